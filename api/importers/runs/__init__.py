"""Import run reports of discovery."""

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

__all__ = [
    "TOLERANCE",
    "FileFault",
    "RunImportResult",
    "SaveResult",
    "UnsupportedScore",
    "import_runs",
    "read_run",
    "read_runs",
    "save_run",
]
