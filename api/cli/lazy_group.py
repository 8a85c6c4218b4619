"""Groups of verbs that import a verb's module only when the verb is called, not for help or completion."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from api.cli.ledger_target import update_stored_options

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}


class Verb(NamedTuple):
    """A verb, or a group of verbs, as the help lists it."""

    name: str
    """The verb, as users type it."""
    summary: str
    """The first line of its help."""
    function: str = ""
    """Its function, as `module:function` below `api.cli.commands`; empty for a group."""
    verbs: "Sequence[Verb]" = ()
    """The verbs of a group."""
    panel: str | None = None
    """The panel of the help that lists it."""
    default: str = ""
    """The verb of a group that is meant where none is typed."""


class _Commands(dict[str, Any]):
    """The verbs of a group by name; each becomes a command when it is looked up."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - Typer names no public type for both kinds
        if isinstance(found := super().__getitem__(name), Verb):
            found = self[name] = _command_of(found)
        return found


def lazy_group(verbs: Sequence[Verb], default: str = "") -> type[TyperGroup]:
    """Return a class of command groups that contains these verbs; `default` is meant where none of them is typed."""
    summaries = {
        verb.name: TyperCommand(verb.name, help=verb.summary, rich_help_panel=verb.panel, rich_markup_mode="rich")
        for verb in verbs
    }

    class LazyGroup(TyperGroup):
        def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - those of Typer
            super().__init__(**attributes)
            self.commands = _Commands({verb.name: verb for verb in verbs})

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - as `_Commands`
            if default and summaries.keys().isdisjoint(args) and not {"-h", "--help"} & set(args):
                args = [default, *args]
            return super().parse_args(ctx, args)

        def list_commands(self, ctx: object) -> list[str]:
            return list(summaries)

        def get_command(self, ctx: object, cmd_name: str) -> TyperCommand | None:
            """Return a command with only a summary, for help and completion; `resolve_command` returns the verb."""
            return summaries.get(cmd_name)

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401
            name, command, rest = super().resolve_command(ctx, args)
            return name, None if command is None else self.commands[str(name)], rest

        def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401
            return _parameters(ctx, super().get_params(ctx))

    return LazyGroup


class _VerbCommand(TyperCommand):
    """The command of a verb."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - as `_Commands`
        return _parameters(ctx, super().get_params(ctx))


def _parameters(ctx: Any, parameters: list[Any]) -> list[Any]:  # noqa: ANN401 - as `_Commands`
    """Return a command's parameters; for completion, so that their values are neither converted nor passed on.

    Completion uses no value. Importing what converts them takes as long as all the rest of it.
    """
    if ctx.resilient_parsing:
        for parameter in parameters:
            parameter.process_value = lambda _context, value: value
    return parameters


def _command_of(verb: Verb) -> Any:  # noqa: ANN401 - as `_Commands`
    if verb.verbs:
        app = typer.Typer(
            cls=lazy_group(verb.verbs, verb.default),
            help=verb.summary,
            no_args_is_help=True,
            add_completion=False,
            context_settings=CONTEXT_SETTINGS,
        )
        app.callback()(update_stored_options)
    else:
        app = typer.Typer(add_completion=False, context_settings=CONTEXT_SETTINGS)
        app.command(verb.name, cls=_VerbCommand)(function_of(verb.function))
    command = typer.main.get_command(app)
    command.name = verb.name
    return command


def function_of(path: str) -> Callable[..., None]:
    """Return the function of a verb, given as `module:function`. This imports its module."""
    module, _, name = path.partition(":")
    function: Callable[..., None] = getattr(import_module(f"api.cli.commands.{module}"), name)
    return function
