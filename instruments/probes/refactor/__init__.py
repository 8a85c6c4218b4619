"""The refactor probes, and their scorer on syntax trees."""
