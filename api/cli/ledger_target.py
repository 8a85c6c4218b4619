"""The options that every verb accepts, before the verb and after it.

They are --ledger, --state, --durability, --url, --token and --json.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from ledger.place import Place

PANEL = "Options of every verb"
DEFAULT_LEDGER = "tallystick.db"
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Environment variables with the number of threads that numpy's libraries compute on, read when numpy is imported."""


def _common_option(help: str, variable: str, metavar: str | None = None, **settings: Any) -> Any:  # noqa: A002, ANN401 - as `typer.Option`
    """Return an option of every verb that an environment variable sets, too."""
    return typer.Option(
        help=help, metavar=metavar, envvar=variable, show_envvar=True, rich_help_panel=PANEL, **settings
    )


def _complete_durability(incomplete: str) -> list[str]:
    from ledger.place import DURABILITIES

    return [word for word in DURABILITIES if word.startswith(incomplete)]


LedgerOption = Annotated[
    str,  # as a path, postgresql:// would lose a slash
    _common_option("The ledger: a file, or postgresql://HOST/DATABASE?ledger=NAME.", "TALLYSTICK_LEDGER", "PLACE"),
]
StateOption = Annotated[
    Path | None,
    _common_option(
        "The folder of the files that this machine keeps of a ledger in PostgreSQL.", "TALLYSTICK_STATE", "DIR"
    ),
]
DurabilityOption = Annotated[
    str | None,  # checked where it is used, so that a verb that asks a server takes no notice of a wrong variable
    _common_option(
        "What a confirmed commit in PostgreSQL must be: on the disks of standbys too (quorum, the default), "
        "on one disk (local), or as durable as a managed service makes it.",
        "TALLYSTICK_DURABILITY",
        "[quorum|local|managed]",
        autocompletion=_complete_durability,
    ),
]
UrlOption = Annotated[str | None, _common_option("Ask the server at this address, not the file.", "TALLYSTICK_URL")]
TokenOption = Annotated[str | None, _common_option("Token for --url.", "TALLYSTICK_TOKEN", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.", rich_help_panel=PANEL)]
_HiddenOption = Annotated[str | None, typer.Option(hidden=True)]


class LedgerTarget(NamedTuple):
    """The ledger that a verb works on, and whether it prints JSON."""

    ledger: str
    """The place of the ledger, as it is typed. Verbs that can ask a server use it only without `url`."""
    state: Path | None
    """The folder of the files that this machine keeps of a ledger in PostgreSQL; None: the default."""
    durability: str | None
    """What is promised about a confirmed commit in PostgreSQL, as it is typed; None: the default."""
    url: str | None
    """The address of a server."""
    token: str | None
    """The token for that server."""
    json: bool
    """Whether to print JSON."""
    typed: frozenset[str]
    """The options that were typed, and not only set as environment variables. A typed --ledger wins over
    TALLYSTICK_URL; a typed --state or --durability is refused beside a ledger file.
    """

    @property
    def place(self) -> "Place":
        """The place of the ledger. Errors: InvalidQuery."""
        from ledger.errors import InvalidQuery

        option = "ledger" if "ledger" in self.typed else "TALLYSTICK_LEDGER"
        place = self.place_of(self.ledger, option)
        if place.database is None and "state" in self.typed:
            detail = f"{place} is a file, and its other files are beside it."
            raise InvalidQuery("state", detail, "Leave it out, or name a ledger in PostgreSQL.")
        if place.database is None and "durability" in self.typed:
            detail = f"{place} is a file: every confirmed commit is on its disk."
            raise InvalidQuery("durability", detail, "Leave it out, or name a ledger in PostgreSQL.")
        return place

    def place_of(self, text: str, option: str) -> "Place":
        """Parse another place that an option names. Errors: InvalidQuery, naming the option."""
        from ledger.place import Place, parse_durability

        promised = "durability" if "durability" in self.typed else "TALLYSTICK_DURABILITY"
        return Place.parse(text, self.state, parse_durability(self.durability, promised), option=option)


def update_stored_options(
    context: typer.Context,
    ledger: LedgerOption = DEFAULT_LEDGER,
    state: StateOption = None,
    durability: DurabilityOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store the options before the verb in the context: first all of them, then those typed between a group and a verb.

    A value that is not typed is set as an environment variable, or the default.
    """
    # not the context's own parameters: some versions of Typer keep them as they were typed
    given = {
        "ledger": ledger, "state": state, "durability": durability, "url": url, "token": token, "as_json": as_json,
    }  # fmt: skip
    if context.obj is None:
        context.obj = LedgerTarget(ledger, state, durability, url, token, as_json, frozenset())
    context.obj = with_typed(context, given)


_, *_common = inspect.signature(update_stored_options).parameters.values()


def with_common_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function of the context that takes the options of every verb too, and stores them when it has ended."""
    first, *own_parameters = inspect.signature(function).parameters.values()

    @wraps(function)
    def run(context: typer.Context, **options: Any) -> None:  # noqa: ANN401 - options of any type
        common = {parameter.name: options.pop(parameter.name) for parameter in _common}
        function(context, **options)
        update_stored_options(context, **common)

    _take(run, [first, *_common, *own_parameters])
    return run


def _take(function: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    """Let a function take these parameters, in the view of Typer."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}


def verb(
    *, server: bool = False, reads: bool = False, ledger: bool = True, json: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a verb: add the common options that it does not declare, and pass its target first.

    The parameter `params` of a function is a struct of the parameters of an operation: it becomes their options.
    The parameter `options` is a struct of options that only the verb has.
    A verb without `server` works on the ledger file, and refuses --url and TALLYSTICK_URL. A verb with `server` asks
    the server that they name; if none is named, it writes through the server that holds the ledger file. A verb with
    `reads` writes nothing, so it reads the file beside that server. A verb without `ledger` needs neither a file nor a
    server. A verb without `json` refuses --json.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        function = _take_options(function)
        _, *own_parameters = inspect.signature(function).parameters.values()
        declared = {parameter.name for parameter in own_parameters}
        added = {
            parameter.name: parameter
            for parameter in _common
            if parameter.name not in declared and (json or parameter.name != "as_json")
        }
        if not server:
            for name in added.keys() & {"url", "token"}:
                added[name] = added[name].replace(annotation=_HiddenOption)

        @wraps(function)
        def run(invocation: typer.Context, **options: object) -> None:
            target = with_typed(invocation, {name: options.pop(name) for name in added})
            if target.json and not json:
                _refuse_json(invocation.command_path)
            if options.get("to") is None:
                _check_typed_place(target)
            if not ledger:
                _refuse_typed_url(invocation.command_path, target)
            elif not server:
                _require_file(invocation.command_path, target)
            else:
                target = _choose_server(target, reads=reads)
            if reads:
                compute_on_one_thread()
            with _advice_without_url(server=server):
                function(target, **options)

        parameters = [inspect.Parameter("invocation", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        parameters += [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own_parameters, *added.values())
        ]
        _take(run, parameters)
        return run

    return decorate


def compute_on_one_thread() -> None:
    """Let numpy compute on one core, if the environment does not say otherwise. Call it before numpy is imported.

    A query on every core would keep a server's requests waiting, and the threads take a tenth of a reading verb's time
    to start. Sums in another order differ in the last digits, so figures do not depend on the number of cores, either.
    Programs that a verb starts would inherit it, so verbs that write do not call it.
    """
    for name in BLAS_THREADS:
        os.environ.setdefault(name, "1")


def _take_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a verb that takes the options that a struct declares, instead of the struct."""
    if "params" in function.__annotations__:
        from api.cli.operation_options import with_options

        return with_options(function)
    if "options" in function.__annotations__:
        from api.cli.struct_options import with_struct_options

        return with_struct_options(function)
    return function


@contextmanager
def _advice_without_url(*, server: bool) -> Iterator[None]:
    """In the errors of a verb that refuses --url, do not advise to use it."""
    try:
        yield
    except Exception as error:
        from ledger.errors import LedgerLocked

        if not server and isinstance(error, LedgerLocked):
            error.advice = "This command needs the file itself: stop that process first."
        raise


def with_typed(context: typer.Context, options: Mapping[str, Any]) -> LedgerTarget:
    """Return the stored target, changed by the options that were typed for this part of the command."""
    target = context.obj
    assert isinstance(target, LedgerTarget), "`update_stored_options` stores the options before the verb first"
    typed = {name.removeprefix("as_"): value for name, value in options.items() if _is_typed(context, name)}
    return target._replace(**typed, typed=target.typed | typed.keys())


def wants_json() -> bool:
    """Return whether --json was typed, also if the options of the verb cannot be parsed."""
    words = sys.argv[1:]
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _check_typed_place(target: LedgerTarget) -> None:
    """Refuse a typed --ledger, --state or --durability that is not valid, also if it is not used.

    Errors: InvalidQuery.
    """
    if target.typed & {"state", "durability"} or ("ledger" in target.typed and "://" in target.ledger):
        _ = target.place


def _refuse_typed_url(command: str, target: LedgerTarget) -> None:
    from ledger.errors import InvalidQuery

    if "url" in target.typed:
        raise InvalidQuery("url", f"{command} needs no ledger and no server.", "Leave it out.")


def _require_file(command: str, target: LedgerTarget) -> None:
    """Refuse a verb that works on a file if a server is named. A typed --ledger wins over TALLYSTICK_URL."""
    from ledger.errors import InvalidQuery

    if "url" in target.typed:
        advice = "Name the file with --ledger, or ask the server over HTTP: its /openapi.json lists the routes."
        raise InvalidQuery("url", f"{command} works on the ledger file and cannot ask a server.", advice)
    if target.url is not None and "ledger" not in target.typed:
        detail = f"it names the server {target.url}, and {command} works on a ledger file."
        raise InvalidQuery("TALLYSTICK_URL", detail, "Name the file with --ledger, or unset TALLYSTICK_URL.")


def _choose_server(target: LedgerTarget, *, reads: bool) -> LedgerTarget:
    """Return the target of a verb that can ask a server: `url` is then the address of its server, or None for the file.

    A ledger in PostgreSQL is written without a server. Errors: LedgerLocked, if a server holds the file but cannot be
    used.
    """
    if "ledger" in target.typed and "url" not in target.typed:
        target = target._replace(url=None)
    if target.url is not None or reads:
        return target
    place = target.place
    if place.database is not None or not place.path.exists():
        return target
    from ledger.sqlite.lock import find_writer

    if find_writer(place.path) is None:
        return target
    from api.client.lock_holder import find_server

    address = find_server(place.path)
    if address is None:
        return target
    from api.cli.output import print_note

    print_note(f"using the server at {address} that holds {place}")
    return target._replace(url=address)


def _refuse_json(command: str) -> None:
    from ledger.errors import InvalidQuery

    raise InvalidQuery("json", f"{command} does not print JSON.", "Leave it out.")


def source_of_agent(target: LedgerTarget, option: str, agent: str | None) -> str | None:
    """Return the source of an event: the agent of the option, or else, without a token, TALLYSTICK_AGENT.

    None if neither names an agent: the token's agent or the default owner is then used. Errors: InvalidQuery.
    """
    if agent is None and not (target.url is not None and target.token):
        option, agent = "TALLYSTICK_AGENT", os.environ.get("TALLYSTICK_AGENT") or None
    if agent is None:
        return None
    from events.agent_name import is_valid_agent
    from events.envelope import source_of
    from ledger.errors import InvalidQuery

    if not is_valid_agent(agent):
        detail = f"{agent!r} cannot be the name of an agent."
        raise InvalidQuery(option, detail, "Use 1..64 letters, digits and ._:@/+-.")
    return source_of(agent)
