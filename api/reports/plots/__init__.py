"""Drawings of calibration figures: each is one SVG image without scripts, for light and dark pages."""
