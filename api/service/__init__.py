"""The use cases: what every interface calls."""
