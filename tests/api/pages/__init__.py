"""The web pages, in a real browser over a real server."""
