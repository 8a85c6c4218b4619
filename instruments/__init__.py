"""Measurements: routers, discovery, probes and evaluations. They turn text into events, and never open a ledger."""
