"""Scoring of an analysis by the expectations of its scenario."""
