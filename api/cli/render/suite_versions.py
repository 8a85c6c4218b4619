"""Print the versions of suites, one version, one of its scenarios, and a comparison of two versions."""

from collections.abc import Iterable

from api.cli.output import make_facts, make_table, open_console, print_note, truncate
from api.reports.escape import one_line, visible
from api.service.evaluation.kept_suite import KeptFile
from api.service.evaluation.suite_comparison import SuiteComparison
from api.service.evaluation.suite_queries import (
    KeptScenarioAnswer,
    SuiteVersionAnswer,
    SuiteVersionEntry,
    SuiteVersionPage,
)
from api.text_format import format_count, format_time, pluralize

DIGEST_SHOWN = 12
"""Characters of a digest in a table; they name a version."""

TEXT_CHARS_MAX = 20_000
"""Characters of a file that are printed; `--file` prints all."""

NOT_KEPT = (
    "Its files are not in the ledger: an older version of Tallystick ran it, or --no-keep-files. "
    "Run the folder once with eval run, and they are kept."
)

LIST_GONE = "The list of its files was erased, or its bytes are lost: evidence get says more."


def print_suite_versions(page: SuiteVersionPage) -> None:
    """Print one line for each version."""
    table = make_table(
        "version", "suite", "scenarios", "runs", "first run (UTC)", "last run (UTC)", "last run", "files",
        right=("scenarios", "runs"), wrap=("suite",),
        drop=("first run (UTC)", "last run", "last run (UTC)", "scenarios", "suite"),
    )  # fmt: skip
    for version in page.versions:
        table.add_row(
            version.suite_digest[:DIGEST_SHOWN],
            one_line(version.suite),
            "-" if version.scenarios is None else format_count(version.scenarios),
            format_count(version.runs),
            format_time(version.first_at),
            format_time(version.last_at),
            version.last_run,
            _files(version),
        )
    open_console().print(table)
    more = f" Next page: --offset {page.next}" if page.next is not None else ""
    print_note(f"{format_count(len(page.versions))} of {pluralize(page.total, 'suite version')}.{more}")


def print_suite_version(answer: SuiteVersionAnswer) -> None:
    """Print one version, and one line for each of its scenarios."""
    console = open_console()
    _print_version(answer.version)
    if answer.version.state == "not_kept":
        print_note(NOT_KEPT)
        return
    if answer.version.state in {"erased", "missing"}:
        print_note(LIST_GONE)
        return
    console.print()
    table = make_table(
        "scenario", "name", "family", "failure type", "description", "files",
        wrap=("name", "description"), drop=("description", "failure type", "family", "name"),
    )  # fmt: skip
    for scenario in answer.scenarios:
        table.add_row(
            scenario.scenario_id,
            truncate(one_line(scenario.name or "-")),
            one_line(scenario.family or "-"),
            one_line(scenario.failure_type or "-"),
            truncate(one_line(scenario.fault or scenario.description or "-")),
            _states(scenario.files),
        )
    console.print(table)
    more = f" Next page: --offset {answer.next}" if answer.next is not None else ""
    print_note(f"{format_count(len(answer.scenarios))} of {pluralize(answer.total, 'scenario')}.{more}")


def print_kept_scenario(answer: KeptScenarioAnswer) -> None:
    """Print one scenario: its texts, its files with their digests, and what is in them."""
    console = open_console()
    about = answer.scenario
    console.print(one_line(about.title), style="bold", soft_wrap=True)
    facts = {
        "suite": f"{answer.version.suite}, version {answer.version.suite_digest[:DIGEST_SHOWN]}",
        "name": about.name,
        "family": about.family,
        "failure type": about.failure_type,
        "description": about.description,
        "fault": about.fault,
    }
    table = make_facts()
    for label, value in facts.items():
        if value is not None:
            table.add_row(label, one_line(value))
    console.print(table)
    for file in answer.files:
        size = "" if file.size_bytes is None else f", {pluralize(file.size_bytes, 'byte')}"
        console.print()
        console.print(f"{one_line(file.path)} ({file.digest[:DIGEST_SHOWN]}{size})", style="bold", soft_wrap=True)
        if file.state != "stored":
            reason = "" if file.reason is None else f": {one_line(file.reason)}"
            console.print(f"{file.state}{reason}", soft_wrap=True)
        elif file.text is None:
            console.print("It cannot be shown as text, or its bytes are damaged: --file says more.", soft_wrap=True)
        else:
            console.print(visible(file.text[:TEXT_CHARS_MAX]).rstrip("\n"), soft_wrap=True)
            if len(file.text) > TEXT_CHARS_MAX:
                more = format_count(len(file.text) - TEXT_CHARS_MAX)
                print_note(f"{more} more characters: add --file {one_line(file.path)}, without the scenario.")


def print_suite_comparison(found: SuiteComparison) -> None:
    """Print what was added, removed and changed, and whether scores can be compared."""
    console = open_console()
    before, after = found.baseline.suite_digest[:DIGEST_SHOWN], found.candidate.suite_digest[:DIGEST_SHOWN]
    console.print(f"{before} -> {after}  {one_line(found.candidate.suite)}", style="bold", soft_wrap=True)
    for label, titles in (("added", found.added), ("removed", found.removed)):
        for title in titles:
            console.print(f"{label}: {one_line(title)}", soft_wrap=True)
    for scenario in found.changed:
        effect = {True: "scores cannot be compared", False: "scores can be compared", None: "unknown effect"}
        console.print(f"changed: {one_line(scenario.title)} ({effect[scenario.scored]})", soft_wrap=True)
        for change in scenario.changes:
            console.print(f"  {one_line(change)}", soft_wrap=True)
    counts = (f"{len(found.added):,} added", f"{len(found.removed):,} removed", f"{len(found.changed):,} changed")
    print_note(f"{', '.join(counts)}, {found.unchanged:,} unchanged.")
    if found.baseline.suite_digest == found.candidate.suite_digest:
        print_note("The same inputs and expectations: what differs between their scores is not due to the suite.")


def _print_version(version: SuiteVersionEntry) -> None:
    console = open_console()
    console.print(f"{one_line(version.suite)}  {version.suite_digest[:DIGEST_SHOWN]}", style="bold", soft_wrap=True)
    facts = {
        "suite digest": version.suite_digest,
        "list of files": version.files_digest,
        "scenarios": None if version.scenarios is None else format_count(version.scenarios),
        "files": _files(version),
        "runs": f"{format_count(version.runs)}, from {version.first_run} ({format_time(version.first_at)} UTC) "
        f"to {version.last_run} ({format_time(version.last_at)} UTC)",
    }
    table = make_facts()
    for label, value in facts.items():
        if value is not None:
            table.add_row(label, value)
    console.print(table)


def _files(version: SuiteVersionEntry) -> str:
    if version.state == "not_kept":
        return "not kept"
    if version.state in {"erased", "missing", "unusable"}:
        return f"list {version.state}"
    if version.state == "stored":
        return f"all {format_count(version.files)}"
    return f"{format_count(version.files_stored)} of {format_count(version.files)}"


def _states(files: Iterable[KeptFile]) -> str:
    gone = [f"{file.path.rpartition('/')[2]} {file.state}" for file in files if file.state != "stored"]
    return ", ".join(gone) or "stored"
