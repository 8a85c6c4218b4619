"""The measurements: evidence in, events out."""
