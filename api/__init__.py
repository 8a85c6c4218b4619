"""Interfaces: HTTP, JSON-RPC, the command line and the pytest plugin; and the use cases that they call."""
