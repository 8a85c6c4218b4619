"""The outcomes of changes to code: kept, taken back, repaired, and how many of their lines are alive."""
