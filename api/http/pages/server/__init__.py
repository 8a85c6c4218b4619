"""The page about the server, for its operator. It only reads."""
