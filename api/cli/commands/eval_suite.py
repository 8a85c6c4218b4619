"""eval suite list, show, save and diff: the versions of suites whose files runs kept as evidence."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf
from api.service.run_params import (
    KeptFileQuery,
    KeptScenarioQuery,
    SuiteComparisonQuery,
    SuiteVersionQuery,
    SuiteVersionsQuery,
)

VERSION_HELP = "A run of the version, or its digest, or an unambiguous beginning of one."
Version = Annotated[str, typer.Argument(metavar="VERSION", help=VERSION_HELP)]


@verb(server=True, reads=True)
def list_versions(target: LedgerTarget, params: SuiteVersionsQuery, as_of: AsOf = None) -> None:
    """List the versions of suites that runs used.

    The version of the last run comes first. Runs of one version have the same scenarios and expectations.

    Example: tallystick eval suite list --suite examples
    """
    from api.cli.open_ledger import ask, show
    from api.cli.render.suite_versions import print_suite_versions
    from api.service.evaluation.suite_queries import get_suite_versions

    show(target, ask(target, get_suite_versions, params, as_of), print_suite_versions)


@verb(server=True, reads=True)
def show(
    target: LedgerTarget,
    params: SuiteVersionQuery,
    scenario: Annotated[
        str | None, typer.Argument(metavar="[SCENARIO]", help="Only this scenario, with the texts of its files.")
    ] = None,
    *,
    file: Annotated[str | None, typer.Option(help="Print the bytes of this file.", metavar="PATH")] = None,
    as_of: AsOf = None,
) -> None:
    """Show a version of a suite, or one of its scenarios.

    The texts are those that the run kept, whatever the folder contains now. If no run kept them, it says so.

    Example: tallystick eval suite show 3f2a9c1e image-pull

    Example: tallystick eval suite show 3f2a9c1e --file image-pull/scenario.yaml
    """
    from api.cli.open_ledger import ask
    from api.cli.open_ledger import show as show_answer
    from api.cli.render.suite_versions import print_suite_version
    from api.service.evaluation.suite_queries import get_suite_version
    from ledger.errors import InvalidQuery

    if file is not None and scenario is not None:
        raise InvalidQuery("file", "is given beside a scenario.", "Name one of them.")
    if file is not None:
        _print_file(target, params.version, file, as_of)
    elif scenario is not None:
        show_fixture(target, params.version, scenario, as_of)
    else:
        show_answer(target, ask(target, get_suite_version, params, as_of), print_suite_version)


def show_fixture(target: LedgerTarget, version: str, scenario: str, as_of: str | None) -> None:
    """Print one scenario of a suite version, with the texts of its files. Errors: NotFound, Gone."""
    from api.cli.open_ledger import ask
    from api.cli.open_ledger import show as show_answer
    from api.cli.render.suite_versions import print_kept_scenario
    from api.service.evaluation.suite_queries import get_kept_scenario
    from instruments.evals.suite.loader import scenario_id

    asked = KeptScenarioQuery(version=version, scenario_id=scenario_id(scenario))
    show_answer(target, ask(target, get_kept_scenario, asked, as_of), print_kept_scenario)


def _print_file(target: LedgerTarget, version: str, path: str, as_of: str | None) -> None:
    """Print the bytes of a file of a version. Errors: NotFound, Gone, InvalidQuery."""
    import sys

    from api.cli.commands.evidence import is_readable
    from api.cli.open_ledger import ask
    from api.service.evaluation.suite_queries import get_suite_file
    from ledger.errors import InvalidQuery

    if target.json:
        raise InvalidQuery("json", "the bytes of a file are printed as they are.", "Leave out --json, or --file.")

    data = ask(target, get_suite_file, KeptFileQuery(version=version, path=path), as_of)
    if sys.stdout.isatty() and not is_readable(data):
        detail = "the bytes contain control characters, which a terminal would obey."
        raise InvalidQuery("file", detail, "Write them to a file: tallystick eval suite save.")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


@verb(server=True, reads=True)
def save(
    target: LedgerTarget,
    version: Version,
    folder: Annotated[Path, typer.Option("--to", help="The folder to make; it may exist if it is empty.")],
) -> None:
    """Write the files of a version into a new folder.

    Byte for byte, and all of them or none. Only the files that a run reads are kept: no README.md.

    Example: tallystick eval suite save 3f2a9c1e --to old-fixtures
    """
    import asyncio

    from api.cli.open_ledger import open_store
    from api.cli.output import print_json, print_note
    from api.service.evaluation.kept_suite import KeptVersion, save_suite
    from api.service.evaluation.suite_queries import describe
    from api.text_format import pluralize

    async def run() -> KeptVersion:
        async with open_store(target, writable=False) as store:
            return await save_suite(store, version, folder)

    kept = asyncio.run(run())
    if target.json:
        print_json(describe(kept))
        return
    print_note(f"{pluralize(len(kept.files), 'file')} of {kept.version.suite} in {folder}.")


@verb(server=True, reads=True)
def diff(target: LedgerTarget, params: SuiteComparisonQuery, as_of: AsOf = None) -> None:
    """Compare two versions of a suite.

    Scenarios that were added, removed and changed, and what changed in them. It tells whether scores can be compared.

    Example: tallystick eval suite diff 3f2a9c1e 77aa01be
    """
    from api.cli.open_ledger import ask, show
    from api.cli.render.suite_versions import print_suite_comparison
    from api.service.evaluation.suite_comparison import get_suite_comparison

    show(target, ask(target, get_suite_comparison, params, as_of), print_suite_comparison)
