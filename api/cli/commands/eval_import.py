"""eval import: labelled cases of benchmarks, as scenarios."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, BearerToken, Url, ledger_of

if TYPE_CHECKING:
    from api.importers.benchmarks import BenchmarkImport, ImportedCases


def import_(
    context: typer.Context,
    *,
    kind: Annotated[str, typer.Argument(metavar="FORMAT", help="opsbench, case or itbench.")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file or folder that holds the cases.")],
    output: Annotated[Path, typer.Option(help="The suite's folder; each case becomes a folder in it.", metavar="DIR")],
    name: Annotated[
        str | None, typer.Option(help="Begin the name of each case's folder with it.", metavar="PREFIX")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace fixtures that say something else.")] = False,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Bring labelled cases in as scenarios, with what their truth lets expect of an answer, and nothing else.

    opsbench: JSON Lines of labelled faults. case: a folder with metadata.json and the golden traces path1.json,
    path2.json ..., or one that holds such folders. itbench: a ground truth in YAML, its folder, or one that holds
    such folders.

    All of them or none: each faulty one is named, and nothing is written then. The same import again adds nothing; a
    fixture that says something else is replaced with --force alone.

    Example: tallystick eval import opsbench labels.jsonl --output suites/cloud
    """
    import asyncio

    from api.cli.output import print_json

    checked = _checked(kind, path, output, name, force=force)
    brought = asyncio.run(_bring(checked, ledger_of(context), url, token))
    if as_json:
        print_json(brought)
    else:
        _tell(brought, output)


def _checked(kind: str, path: Path, output: Path, prefix: str | None, *, force: bool) -> "BenchmarkImport":
    """Errors: InvalidQuery, and those of `BenchmarkImport`."""
    from api.cli.output import progress
    from api.importers.benchmarks import FORMATS, BenchmarkImport
    from ledger.errors import InvalidQuery

    known = next((one for one in FORMATS if one == kind), None)
    if known is None:
        raise InvalidQuery("FORMAT", f"{kind!r} is no format of cases.", f"Name one of {', '.join(FORMATS)}.")
    with progress("checking", "cases") as report:
        return BenchmarkImport(known, path, output, report, prefix=prefix, force=force)


async def _bring(checked: "BenchmarkImport", ledger: Path, url: str | None, token: str | None) -> "ImportedCases":
    from api.cli.open_ledger import open_store
    from api.cli.output import progress

    async with open_store(ledger, url, token) as target:
        with progress("importing", "cases") as report:
            return await checked.write(target, report)


def _tell(brought: "ImportedCases", output: Path) -> None:
    from api.text import many

    elapsed_s = max(brought.elapsed_ms / 1000, 0.001)
    typer.echo(
        f"{many(brought.cases, 'case')} in {output}: {brought.written:,} written, {brought.replaced:,} replaced,"
        f" {brought.there:,} there already."
    )
    typer.echo(
        f"{many(brought.captured, 'scenario')} captured, {brought.revised:,} revised, {brought.knew:,} known already;"
        f" {elapsed_s:.1f} s, {brought.cases / elapsed_s:,.0f} cases/s."
    )
