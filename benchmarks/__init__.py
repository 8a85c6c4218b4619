"""Benchmarks: each figure next to a bare mechanism, a peer or a limit, measured in one run."""
