"""A simulation of many ledgers on clusters of PostgreSQL: what events cost, and where the design breaks."""
