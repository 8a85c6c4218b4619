"""Each package's public names: what may be imported from it, pinned. A name is added or removed here on purpose."""

import re
from importlib import import_module
from pkgutil import walk_packages

import pytest

PACKAGES = ("events", "ledger", "projections", "instruments", "api", "tallystick")

SURFACE: dict[str, list[str]] = {
    "api.export": [
        "Export",
        "ExportSelection",
        "Manifest",
        "ZipTarget",
        "open_export",
        "parse_selection",
        "write_export",
    ],
    "api.importers.cstp": ["CstpImport", "CstpImportResult", "Loss", "SourceConflict"],
    "api.importers.decisions": [
        "DecisionImport",
        "DecisionImportOptions",
        "DecisionImportResult",
        "bad_row_lines",
        "regular_file",
    ],
    "api.reports": [
        "EvaluationReport",
        "FlakyScenario",
        "GateLimits",
        "GateResult",
        "ReportFiles",
        "html_page",
        "judge",
        "junit",
        "markdown",
        "verdict_sentence",
    ],
    "api.verify": ["VerifyReport", "verify_ledger", "verify_package", "verify_server"],
    "instruments.discovery": [
        "BATTERY_PROMPT_VERSION",
        "PROMPT_VERSION",
        "NameRules",
        "Prompt",
        "ResponseAnalysis",
        "Session",
        "analyze",
        "build_exclusion",
        "build_prompt",
        "make_battery",
        "render_events",
        "render_summary",
    ],
    "instruments.evals.benchmarks": ["Case", "CaseError", "Format", "folder_name", "read_cases"],
    "instruments.probes": [
        "FORMER_PROBE_IDS",
        "PROBES",
        "Probe",
        "ProbeScore",
        "SCORERS",
        "Scorer",
        "Unscored",
        "find_probe",
        "scorer_name",
    ],
    "instruments.routers": ["FORMS", "Router", "parse_router"],
    "ledger.verify": [
        "Check",
        "EvidenceCheck",
        "FileFindings",
        "Finding",
        "Findings",
        "LineHeader",
        "LineHeaders",
        "SignatureCheck",
        "OrderCheck",
        "TimestampParser",
        "TreeRebuild",
        "bundled_key",
        "describe_difference",
        "verify_file",
    ],
    "tallystick": [
        "AsyncClient",
        "Busy",
        "Client",
        "Conflict",
        "ConnectionFailed",
        "Erased",
        "Event",
        "InvalidArgument",
        "InvalidEvent",
        "InvalidQuery",
        "LocalServerFailed",
        "NotAllowed",
        "NotFound",
        "Reason",
        "Refused",
        "Reply",
        "ServerFault",
        "TallystickError",
        "TooLarge",
        "UnexpectedAnswer",
        "async_local",
        "local",
    ],
}
"""Package to its `__all__`. A package that gets one is pinned by a line here."""


def rank(name: str) -> tuple[int, list[tuple[int, str]]]:
    """Constants, then classes, then the rest; within each by letter, and numbers by size. Ruff's RUF022 sorts so."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def packages_with_surface() -> list[str]:
    """Return every package and subpackage of the project that has an `__all__`."""
    roots = [import_module(package) for package in PACKAGES]
    inner = [found.name for root in roots for found in walk_packages(root.__path__, f"{root.__name__}.") if found.ispkg]
    return [name for name in (*PACKAGES, *inner) if hasattr(import_module(name), "__all__")]


@pytest.mark.parametrize("package", packages_with_surface())
def test_names_are_sorted_and_resolve(package: str) -> None:
    module = import_module(package)
    names = list(module.__all__)
    assert names == sorted(set(names), key=rank), f"{package}.__all__ is sorted: `ruff check --fix` sorts it."
    missing = [name for name in names if not hasattr(module, name)]
    assert not missing, (
        f"Each name in {package}.__all__ can be imported; these cannot: {', '.join(missing)}. "
        f"Import them in {package}/__init__.py, or take them out."
    )


@pytest.mark.parametrize("package", SURFACE)
def test_surface_is_the_one_agreed(package: str) -> None:
    names = set(import_module(package).__all__)
    agreed = set(SURFACE[package])
    assert names == agreed, (
        f"{package} gives the names agreed on; new: {sorted(names - agreed)}, gone: {sorted(agreed - names)}. "
        "Where that is meant, change SURFACE here and say so in the changelog."
    )
