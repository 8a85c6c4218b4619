"""run: save a discovery run from its report, show one, or list them."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show, use_store
from api.cli.options import AsOf, argument, flag, option
from api.cli.output import print_json
from api.service.run_params import RunParams, RunQuery
from api.text_format import pluralize
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from api.importers.runs.importer import SaveResult


@verb(server=True)
def save(
    target: LedgerTarget,
    report_file: Annotated[str, option("A run report; - is standard input.", "FILE|-")],
    agent: Annotated[str | None, option("The agent of the run.", "NAME")] = None,
) -> None:
    """Save one report of a discovery run.

    Saving the same report again adds nothing. A run never overwrites another. A report without a run_id gets one.

    Example: tallystick run save --report-file report.json
    """
    from api.importers.runs.importer import read_run, save_run
    from events.errors import InvalidEvent

    try:
        report = read_run(report_file, agent)
    except InvalidEvent as error:
        error.detail = f"{'standard input' if report_file == '-' else report_file}: {error.detail}"
        raise
    show(target, use_store(target, lambda store: save_run(report, store)), _print_saved)


def _print_saved(saved: "SaveResult") -> None:
    from api.cli.render.discovery_runs import print_unsupported_scores

    state = f"saved, {pluralize(saved.results, 'result')}" if saved.saved else "is there already"
    typer.echo(f"Run {saved.run_id} {state}.")
    print_unsupported_scores(saved.unborne)


@verb(server=True, reads=True)
def show_run(
    target: LedgerTarget,
    run_id: Annotated[str, argument("The id, or an unambiguous beginning of it.", "RUN")],
    attempts: Annotated[bool, flag("--attempts", "Show every attempt and signal, too.")] = False,
    golden: Annotated[bool, flag("--golden", "Only print the first accepted response, byte for byte.")] = False,
    as_of: AsOf = None,
) -> None:
    """Show one discovery run.

    --json prints its report, field for field as it was imported.

    Example: tallystick run show mc-1771684523895 --attempts

    Example: tallystick run show mc-1771684523895 --golden >golden.txt
    """
    from msgspec import UNSET
    from msgspec.structs import replace

    from api.cli.render.discovery_runs import print_run
    from api.service.discovery.queries import get_run
    from api.service.discovery.summary import read_golden

    if golden and (attempts or as_of is not None):
        raise InvalidQuery("golden", "prints nothing else.", "Leave out --attempts and --as-of.")
    params = RunParams(run_id=run_id, include=("attempts", "summary") if attempts else ("summary",), prefix=True)
    run = ask(target, get_run, params, as_of)
    if golden:
        text = use_store(target, lambda store: read_golden(store, run.run_id or run_id), writable=False)
        typer.echo(text.encode(), nl=False)
    elif target.json:
        print_json(replace(run, summary=UNSET))
    else:
        print_run(run)


@verb(server=True, reads=True)
def list_runs(target: LedgerTarget, params: RunQuery, as_of: AsOf = None) -> None:
    """List discovery runs.

    The newest comes first.

    Example: tallystick run list --probe refactor-v1 --since 2026-02-01
    """
    from api.cli.render.discovery_runs import print_runs
    from api.service.discovery.queries import get_runs

    show(target, ask(target, get_runs, params, as_of), print_runs)
