"""Import decisions from tables: CSV in its variants, JSON Lines, and JSON arrays."""

from api.importers.decisions.importer import DecisionImport, DecisionImportOptions
from api.importers.decisions.report import DecisionImportResult, bad_row_lines
from api.importers.decisions.tables import regular_file

__all__ = ["DecisionImport", "DecisionImportOptions", "DecisionImportResult", "bad_row_lines", "regular_file"]
