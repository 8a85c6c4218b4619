"""Import a CSTP installation: its decision files and its SQLite stores."""

from api.importers.cstp.importer import CstpImport
from api.importers.cstp.report import CstpImportResult, Loss, SourceConflict

__all__ = ["CstpImport", "CstpImportResult", "Loss", "SourceConflict"]
