"""The log on PostgreSQL. It needs the extra `postgres`, and is imported only where a place names a database."""
