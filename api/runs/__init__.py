"""Runs of discovery: their reports taken in, and shown."""

from api.runs.showing import RunPage, RunQuery, Shown, list_runs, show_run
from api.runs.taking import Fault, Saved, Taken, read_run, readable, save, take

__all__ = [
    "Fault",
    "RunPage",
    "RunQuery",
    "Saved",
    "Shown",
    "Taken",
    "list_runs",
    "read_run",
    "readable",
    "save",
    "show_run",
    "take",
]
