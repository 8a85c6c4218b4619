"""Tests of the page about the server."""
