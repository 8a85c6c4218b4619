"""The measurements: evidence in, events out. Empty until discovery moves in."""
