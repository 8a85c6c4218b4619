"""Calibration: stated confidence against outcomes."""
