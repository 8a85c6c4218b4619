"""Evaluations: runs, comparisons and the scoreboard."""
