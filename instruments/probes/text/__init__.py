"""The text probes: debugging, summarising and weighting."""
