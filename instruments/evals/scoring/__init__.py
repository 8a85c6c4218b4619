"""Scoring of an analysis against what its scenario expects."""
