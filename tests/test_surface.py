"""Each package's public names: what may be imported from it, pinned. A name is added or removed here on purpose."""

import re
from importlib import import_module
from pkgutil import walk_packages

import pytest

PACKAGES = ("events", "ledger", "projections", "instruments", "api")

SURFACE: dict[str, list[str]] = {
    "api.cstp": ["get_agent_card", "get_health", "post_cstp"],
    "api.runs": [
        "TOLERANCE",
        "Fault",
        "RunPage",
        "RunQuery",
        "Saved",
        "Shown",
        "Taken",
        "Unborne",
        "list_runs",
        "read_run",
        "readable",
        "save",
        "show_run",
        "take",
    ],
    "api.takeover": ["Contradiction", "Loss", "Takeover", "TakenOver", "in_words", "warnings"],
    "events": [
        "VOCABULARY",
        "DecisionAmended",
        "DecisionAsked",
        "DecisionRecorded",
        "DecisionReviewed",
        "DecisionThought",
        "DiscoveryAttempted",
        "DiscoveryFinished",
        "DiscoverySignalled",
        "DiscoveryStarted",
        "Draft",
        "EvalFinished",
        "EvalScenarioCaptured",
        "EvalScenarioRevised",
        "EvalScored",
        "EvalStarted",
        "Event",
        "EvidenceErased",
        "EvidenceStored",
        "Fact",
        "InvalidEvent",
        "Kind",
        "Life",
        "Line",
        "MalformedInput",
        "ModelAliased",
        "ModelIdentity",
        "ModelRegistered",
        "Payload",
        "ProbeScored",
        "TallystickError",
        "ThoughtAdopted",
        "ThoughtRecorded",
        "Vocabulary",
        "agent_of",
        "canonical",
        "encode_line",
        "is_unresolved",
        "is_wrapper",
        "json_schema",
        "key_of",
        "source_of",
        "timestamp",
    ],
    "instruments.discovery": [
        "PROMPT_VERSION",
        "Analysis",
        "Prompt",
        "Session",
        "analyze",
        "complete",
        "digest_of",
        "exclusion",
        "prompt",
        "told",
    ],
    "instruments.evals": ["Analysis", "Description", "Expectations", "Scenario", "Scoring", "analysis_of"],
    "instruments.probes": ["FORMERLY", "PROBES", "SCORERS", "Probe", "Score", "Scorer", "find_probe", "name_of"],
    "instruments.routers": ["FORMS", "BadRouter", "Router", "router_of"],
    "ledger": [
        "Clock",
        "EvidenceStore",
        "Head",
        "Holder",
        "Log",
        "Order",
        "Placed",
        "Query",
        "Reading",
        "Slice",
        "SqliteLog",
        "SqliteReader",
        "holder_of",
        "microseconds",
        "moment_of",
        "system_clock",
    ],
    "projections": [
        "GROUPINGS",
        "INCLUSIONS",
        "MIN_DECISIONS",
        "MIN_REVIEWED",
        "PROJECTIONS",
        "STAKES",
        "THOUGHT_AGE_MAX",
        "TREND_DAYS",
        "TREND_DAYS_MAX",
        "Alert",
        "Attempt",
        "AttemptScore",
        "Board",
        "BoardRow",
        "Bucket",
        "Calibration",
        "CalibrationView",
        "Category",
        "Change",
        "Compared",
        "Comparison",
        "Contrast",
        "Corp",
        "CountMerits",
        "Counted",
        "Course",
        "Coverage",
        "Decisions",
        "Decline",
        "DiscoveryConfig",
        "DiscoveryResult",
        "Discrimination",
        "Drift",
        "Engine",
        "Entry",
        "Erasure",
        "Evaluation",
        "EvaluationHead",
        "Evidence",
        "Exhibit",
        "Figures",
        "Filter",
        "Group",
        "GroupBy",
        "History",
        "Hits",
        "Inclusion",
        "Interval",
        "Inventory",
        "InventoryView",
        "Limits",
        "McNemar",
        "Meaning",
        "Merits",
        "Model",
        "ModelScores",
        "Pair",
        "Places",
        "Plan",
        "Pooled",
        "Precedent",
        "ProbeResult",
        "ProbeScores",
        "Probes",
        "Progress",
        "Projection",
        "Range",
        "Reasons",
        "ReasonsView",
        "Recalibration",
        "Recommendation",
        "Review",
        "Run",
        "RunDetail",
        "RunEntry",
        "RunReport",
        "RunSelection",
        "Runs",
        "ScenarioChange",
        "ScenarioResult",
        "Scope",
        "ScoreRow",
        "ScoresWanted",
        "Search",
        "Selection",
        "Side",
        "Signal",
        "Snapshots",
        "Sort",
        "Span",
        "Spread",
        "Standing",
        "Status",
        "SuiteBoard",
        "Table",
        "Thought",
        "Thoughts",
        "Trend",
        "TrendPoint",
        "TypeMerits",
        "Verdict",
        "Window",
        "ZTest",
        "attempts_of",
        "breadth",
        "calibrate",
        "categories",
        "chart",
        "compare_windows",
        "discriminate",
        "examined",
        "precedent",
        "report_of",
        "signals_of",
        "stand",
        "survey",
        "tabulate",
        "words_of",
    ],
}
"""Package to its `__all__`. A package that gets one is pinned by a line here."""


def rank(name: str) -> tuple[int, list[tuple[int, str]]]:
    """Constants, then classes, then the rest; within each by letter, and numbers by size. Ruff's RUF022 sorts so."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def packages_with_surface() -> list[str]:
    """Every package and subpackage of ours that states an `__all__`."""
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
