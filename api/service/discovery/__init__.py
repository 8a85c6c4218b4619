"""Use cases of discovery runs."""
