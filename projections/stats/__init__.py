"""Statistics that several projections use."""
