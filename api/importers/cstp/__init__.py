"""Taking a CSTP installation over: its decision files and its SQLite store, with all they say."""

from api.importers.cstp.importer import CstpImport
from api.importers.cstp.report import CstpImportResult, Loss, SourceConflict

__all__ = ["CstpImport", "CstpImportResult", "Loss", "SourceConflict"]
