"""Convert labelled benchmark cases to scenarios: one module per format, from bytes to cases."""

from instruments.evals.benchmarks.case import Case, CaseError, folder_name
from instruments.evals.benchmarks.loader import Format, read_cases

__all__ = ["Case", "CaseError", "Format", "folder_name", "read_cases"]
