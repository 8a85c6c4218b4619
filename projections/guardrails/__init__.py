"""The rules in force, the evaluation of an action against them, and how often each rule fired."""
