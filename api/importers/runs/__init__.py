"""Runs of discovery: their reports taken in, and shown."""

from api.importers.runs.importer import FileFault, RunImportResult, SaveResult, read_run, readable, save, take
from api.importers.runs.score_check import TOLERANCE, UnsupportedScore
from api.service.discovery.queries import RunPage, RunQuery, RunView, list_runs, show_run

__all__ = [
    "TOLERANCE",
    "FileFault",
    "RunImportResult",
    "RunPage",
    "RunQuery",
    "RunView",
    "SaveResult",
    "UnsupportedScore",
    "list_runs",
    "read_run",
    "readable",
    "save",
    "show_run",
    "take",
]
