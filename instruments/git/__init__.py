"""What git histories show about changes: who made them, and their outcomes. Nothing of a repository is changed."""
