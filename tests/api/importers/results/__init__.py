"""Tests of importing results of other tools."""
