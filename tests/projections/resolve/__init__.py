"""Tests of the rules by which tests of decisions are resolved."""
