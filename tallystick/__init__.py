"""Tallystick: a ledger for AI agents."""
