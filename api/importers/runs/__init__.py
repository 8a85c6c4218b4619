"""Import and show run reports of discovery."""

from api.importers.runs.importer import (
    FileFault,
    RunImportResult,
    SaveResult,
    import_runs,
    read_run,
    read_runs,
    save_run,
)
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
    "import_runs",
    "list_runs",
    "read_run",
    "read_runs",
    "save_run",
    "show_run",
]
