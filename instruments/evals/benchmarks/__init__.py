"""Labelled cases of benchmarks as scenarios: a module a format, bytes in, cases out."""

from instruments.evals.benchmarks.case import Case, CaseError, folder_name
from instruments.evals.benchmarks.loader import Format, cases

__all__ = ["Case", "CaseError", "Format", "cases", "folder_name"]
