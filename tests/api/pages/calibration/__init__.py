"""The calibration pages, over a real server."""
