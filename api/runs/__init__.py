"""Runs of discovery: their reports taken in, and shown."""

from api.runs.bearing import TOLERANCE, Unborne
from api.runs.showing import RunPage, RunQuery, Shown, list_runs, show_run
from api.runs.taking import Fault, Saved, Taken, read_run, readable, save, take

__all__ = [
    "TOLERANCE",
    "Fault",
    "RunPage",
    "RunQuery",
    "Saved",
    "Shown",
    "Taken",
    "Unborne",
    "list_runs",
    "read_run",
    "readable",
    "save",
    "show_run",
    "take",
]
