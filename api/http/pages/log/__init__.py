"""Pages of the log: the newest events, one event, and the events of one correlation id."""
