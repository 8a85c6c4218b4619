"""import results: import the results of evaluations by other tools."""

from typing import TYPE_CHECKING, Annotated

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import open_store, show
from api.cli.options import DryRun, argument, choice, option
from api.cli.output import show_progress

if TYPE_CHECKING:
    from api.importers.results.importer import ResultsOptions
    from api.importers.results.report import ResultsImport

FORMATS = ("inspect", "lm-eval", "promptfoo", "deepeval")


@verb(server=True)
def results(
    target: LedgerTarget,
    files: Annotated[list[str], argument("Files of results, as the tool wrote them.", "FILE...")],
    *,
    format_: Annotated[str | None, choice("The format; without it, the content shows it.", FORMATS, "--format")] = None,
    suite: Annotated[str | None, option("The name of the suite, instead of the one in the file.", "NAME")] = None,
    agent: Annotated[str | None, option("The evaluated agent, instead of the one in the file.", "NAME")] = None,
    dry_run: DryRun = False,
) -> None:
    """Import results of evaluations by other tools.

    They are Inspect AI, lm-evaluation-harness, promptfoo and DeepEval.

    Each scorer of a file becomes an evaluation, with times, tokens and errors; epochs become attempts. Importing the
    same results again adds nothing, also from another file format. What the ledger cannot hold is listed and counted.
    A file that cannot be read, or whose run the ledger has with other content, is reported, and nothing of it is
    written. Exit code 1: some were not imported; 2: no file could be read.

    Example: tallystick import results logs/*.eval
    """
    import asyncio

    from api.cli.commands.imports import exit_when_interrupted
    from api.cli.render.results_import import print_results_import
    from api.importers.results.importer import ResultsOptions

    options = ResultsOptions(format=format_, suite=suite, agent=agent, dry_run=dry_run)
    options.check()
    with exit_when_interrupted():
        result = asyncio.run(_import(files, options, target))
    show(target, result, print_results_import, code=(1 if result.usable else 2) if result.faults else 0)


async def _import(files: list[str], options: "ResultsOptions", target: LedgerTarget) -> "ResultsImport":
    """Import the files. The ledger is opened only when one could be read."""
    from itertools import chain

    from api.importers.batch_append import FileFault
    from api.importers.results.importer import import_results, read_files
    from api.importers.results.report import ResultsImport

    result, items = ResultsImport(dry_run=options.dry_run), read_files(files, options)
    for item in items:
        if not isinstance(item, FileFault):
            async with open_store(target, writable=not options.dry_run) as store:
                await import_results(chain([item], items), store, result, show_progress)
            break
        result.faults.append(item)
    return result
