"""eval import: import labelled benchmark cases as scenarios."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import choice_argument

if TYPE_CHECKING:
    from api.importers.benchmark_scenarios import BenchmarkImport, BenchmarkImportResult
    from instruments.evals.benchmarks import Format

FORMATS = ("opsbench", "case", "itbench")


@verb(server=True)
def import_cases(
    target: LedgerTarget,
    *,
    kind: Annotated[str, choice_argument("The format of the cases.", FORMATS, "FORMAT")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file or folder that contains the cases.")],
    output: Annotated[Path, typer.Option(help="The suite's folder. Each case becomes a folder in it.", metavar="DIR")],
    name: Annotated[
        str | None, typer.Option(help="Begin the name of each case's folder with this.", metavar="PREFIX")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace fixtures that have other content.")] = False,
) -> None:
    """Import labelled benchmark cases as scenarios.

    A scenario expects what the case's label supports, and nothing else. opsbench: JSON Lines of labelled faults.
    case: a folder with metadata.json, tool_cache.json and the golden traces path1.json, path2.json ..., or a folder of
    such folders.
    itbench: a ground truth in YAML, its folder, or a folder of such folders.

    All cases are imported, or none: if some are faulty, each of these is named and nothing is written. Importing the
    same cases again adds nothing. Fixtures with other content are only replaced with --force.

    An input contains nothing of the id or label. Cases whose inputs are equal and whose causes differ are counted.

    Example: tallystick eval import opsbench labels.jsonl --output suites/cloud
    """
    import asyncio

    from api.cli.output import print_json

    cases = _read_cases(kind, path, output, name, force=force)
    result = asyncio.run(_import(cases, target))
    if target.json:
        print_json(result)
    else:
        _print_imported(result, output)
    _print_warnings(result)


def _read_cases(kind: str, path: Path, output: Path, prefix: str | None, *, force: bool) -> "BenchmarkImport":
    """Read and check the cases. Errors: those of `BenchmarkImport`."""
    from api.cli.output import show_progress
    from api.importers.benchmark_scenarios import BenchmarkImport

    with show_progress("checking", "cases") as report:
        return BenchmarkImport(cast("Format", kind), path, output, report, prefix=prefix, force=force)


async def _import(cases: "BenchmarkImport", target: LedgerTarget) -> "BenchmarkImportResult":
    from api.cli.open_ledger import open_store
    from api.cli.output import show_progress

    async with open_store(target) as store:
        with show_progress("importing", "cases") as report:
            return await cases.write(store, report)


def _print_imported(result: "BenchmarkImportResult", output: Path) -> None:
    from api.cli.output import format_speed
    from api.text_format import pluralize

    typer.echo(
        f"{pluralize(result.cases, 'case')} in {output}: {result.written:,} written, {result.replaced:,} replaced,"
        f" {result.there:,} there already."
    )
    typer.echo(
        f"{pluralize(result.captured, 'scenario')} captured, {result.revised:,} revised, {result.knew:,} unchanged; "
        f"{format_speed(result.cases, result.elapsed_ms, 'cases')}."
    )
    if result.ambiguous:
        typer.echo(
            f"{pluralize(result.cases, 'case')} have {pluralize(result.inputs, 'distinct input')} for "
            f"{result.truths:,} distinct causes: at most {result.answerable:,} ({result.ceiling:.1%}) can be answered "
            "right from the input alone."
        )


def _print_warnings(result: "BenchmarkImportResult") -> None:
    """Warn of inputs that cannot tell causes apart, and of evidence that the solution selected."""
    from api.cli.output import print_note
    from api.text_format import pluralize

    if result.ambiguous:
        print_note(
            f"warning: {pluralize(result.ambiguous, 'case')} have the same input as a case with another cause. Compare "
            "scores with that limit, or add evidence."
        )
    if result.golden_evidence:
        print_note(
            f"warning: the evidence of {pluralize(result.golden_evidence, 'case')} is what golden paths looked at, as "
            "tool_cache.json is missing. The choice of evidence points to the solution."
        )
