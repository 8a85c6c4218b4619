"""Labelled cases of benchmarks as scenarios: a module a format, bytes in, cases out."""

from instruments.evals.cases.case import Case, Wrong, folder_name
from instruments.evals.cases.sources import Format, cases

__all__ = ["Case", "Format", "Wrong", "cases", "folder_name"]
