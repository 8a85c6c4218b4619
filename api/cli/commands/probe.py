"""probe: give models a task, and show the scores of their answers."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, open_reader, show, use_store
from api.cli.options import AsOf, flag, option
from api.cli.output import open_console, print_json, print_line, show_progress, table_of
from projections.discovery.query_params import ProbeScoreQuery

if TYPE_CHECKING:
    from api.service.store import EventStore
    from projections.discovery.model_names import ModelNames

ProbeId = Annotated[str | None, option("The probe.  \\[default: refactor-go]", "ID", "--probe", show_default=False)]


@verb(server=True, reads=True)
def scores(target: LedgerTarget, params: ProbeScoreQuery, as_of: AsOf = None) -> None:
    """Show how each model scored on the probes.

    Also says whether a probe tells models apart.

    Example: tallystick probe scores --probe refactor --scorer syntax@1
    """
    from api.cli.render.model_inventory import print_scores
    from api.service.model_queries import get_probes

    show(target, ask(target, get_probes, params, as_of), print_scores)


@verb(ledger=False, json=False)
def prompt(
    target: LedgerTarget,
    probe: ProbeId = None,
    exclude_file: Annotated[
        str | None,
        option(
            "Models that must not answer: a JSON array of identities or names, or one name per line; "
            "- is standard input.",
            "FILE|-",
        ),
    ] = None,
) -> None:
    """Print a prompt that asks a model who it is and gives it a task.

    Nothing is written.

    Example: tallystick probe prompt --exclude-file seen.txt | some-model > answer.txt
    """
    from api.service.discovery.prompt_and_analysis import build_discovery_prompt

    print_line(build_discovery_prompt(probe, exclude_file).rstrip("\n").encode())


@verb(server=True, reads=True)
def analyze(
    target: LedgerTarget,
    response_file: Annotated[str, option("One answer; - is standard input.", "FILE|-")],
    probe: ProbeId = None,
) -> None:
    """Print what one answer says: identity, code, score and verdict.

    The output is JSON. The verdict is identified, wrapper, refused, empty or unparsable. A model is known if the
    ledger has it registered. Nothing is written. Exit code 0: a model is identified; 1: none is.

    Example: tallystick probe analyze --response-file answer.txt || echo "nobody"
    """
    import asyncio

    from api.service.discovery.prompt_and_analysis import analyze_response, read_input

    answer = read_input(response_file, "response_file")
    analysis = analyze_response(answer, probe, asyncio.run(_read_names(target)))
    print_json(analysis)
    if analysis.verdict != "identified":
        raise typer.Exit(1)


async def _read_names(target: LedgerTarget) -> "ModelNames":
    """Return what owners said about names at the server, or else in the ledger file, if that exists."""
    from api.client.open_store import open_remote_store
    from api.service.store import LocalStore
    from api.service.stored_model_names import load_model_names
    from projections.discovery.model_names import ModelNames

    if target.url is not None:
        async with open_remote_store(target.url, target.token) as remote:
            return await load_model_names(remote)
    if target.place.database is None and not target.place.path.is_file():
        return ModelNames()
    async with open_reader(target.place) as service:
        return await load_model_names(LocalStore(service))


@verb(ledger=False)
def list_probes(target: LedgerTarget) -> None:
    """List the probes with their scorers.

    Example: tallystick probe list
    """
    from instruments.probes import PROBES, scorer_name

    if target.json:
        names = ("id", "version", "kind", "language")
        print_json(
            [
                {name: getattr(probe, name) for name in names}
                | {"scorer": scorer_name(probe.scorer), "older_scorers": list(map(scorer_name, probe.older_scorers))}
                for probe in PROBES
            ]
        )
        return
    table = table_of(
        PROBES,
        {"id": "id", "version": "version", "kind": "kind", "language": "language",
         "scorer": lambda probe: scorer_name(probe.scorer),
         "older scorers": lambda probe: ", ".join(map(scorer_name, probe.older_scorers)) or "-"},
    )  # fmt: skip
    open_console().print(table)


@verb(server=True)
def rescore(
    target: LedgerTarget,
    *,
    scorer: Annotated[str, option("The scorer to use.", "ID@VERSION")],
    run: Annotated[str | None, option("Only the outputs of this run.", "RUN")] = None,
    probe: Annotated[str | None, option("Only outputs of this probe; without it the scorer's own.", "ID")] = None,
    dry_run: Annotated[bool, flag("--dry-run", "Print the comparison, and write nothing.")] = False,
) -> None:
    """Score stored outputs with another scorer.

    Shows old and new scores side by side, for each model and each answer; an invalid answer counts as 0. The new scores
    are events beside the old ones, which stay. A repetition adds nothing. Answers that cannot be scored are listed with
    the reason.

    Example: tallystick probe rescore --scorer debugging@2 --dry-run
    """
    from api.cli.render.rescored import print_rescored
    from api.service.rescore import RescoreQuery, rescore
    from api.service.rescore_comparison import RescoreResult

    query = RescoreQuery(scorer=scorer, run=run, probe=probe, dry_run=dry_run)

    async def score(store: "EventStore") -> RescoreResult:
        with show_progress("rescoring", "outputs") as report:
            return await rescore(store, query, report)

    show(target, use_store(target, score, writable=not dry_run), print_rescored)
