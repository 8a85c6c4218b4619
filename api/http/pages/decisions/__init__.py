"""The pages of decisions: the list, one decision whole, and the queue of those to review."""
