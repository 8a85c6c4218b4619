"""The pytest plugin: scenarios as tests."""
