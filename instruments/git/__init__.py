"""What git histories show about changes: who made them, and what became of them. Nothing of a repository is changed."""
