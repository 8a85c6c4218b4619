"""Discovery: runs, models and probe scores."""
