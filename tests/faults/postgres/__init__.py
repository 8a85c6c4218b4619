"""Faults of the log on PostgreSQL: three servers, three nodes, and the checker of their histories."""
