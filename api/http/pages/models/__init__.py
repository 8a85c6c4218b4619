"""Pages of models: the inventory, discovery runs, and probe scores."""
