"""The HTML report of an evaluation."""
