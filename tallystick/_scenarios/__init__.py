"""Scenarios as tests: pytest's side, and the messages that it exchanges with a worker process."""
