"""token: who may come in, and what they may do."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, ledger_of

if TYPE_CHECKING:
    from api.auth import Token

app = typer.Typer(help="Make, list and revoke the tokens by which agents are known.", no_args_is_help=True)


@app.command("add")
def add(
    context: typer.Context,
    agent: Annotated[str, typer.Argument(help="The agent's name.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="append, read, import or admin; may be given several times.  \\[default: append, read]"),
    ] = None,
    days: Annotated[
        int | None, typer.Option(help="How long it is good; for ever without it.", min=1, max=36_500)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token. It is printed once, alone on standard output, and kept only as a hash.

    Example: TOKEN=$(tallystick token add claude --scope append --scope read)
    """
    from typing import cast

    from api.auth import DEFAULT_SCOPES, Scope, TokenStore
    from api.cli.output import print_json, say
    from api.text import moment
    from ledger import system_clock

    scopes = cast(tuple[Scope, ...], tuple(dict.fromkeys(scope))) if scope else DEFAULT_SCOPES
    kept, secret = TokenStore(ledger_of(context)).add(agent, scopes, system_clock(), days)
    if as_json:
        print_json({**_public(kept), "token": secret})
        return
    until = f", until {moment(kept.expires)} UTC" if kept.expires else ""
    say(f"Token {kept.id} of {agent} ({', '.join(kept.scopes)}){until}. This is the only time it is shown:")
    typer.echo(secret)


@app.command("list")
def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List the tokens: whose they are, and what they allow. The tokens themselves are not kept.

    Example: tallystick token list
    """
    from api.auth import TokenStore
    from api.cli.output import out, print_json, say, table
    from api.text import moment

    tokens = TokenStore(ledger_of(context)).list()
    if as_json:
        print_json([_public(kept) for kept in tokens])
        return
    if not tokens:
        say("There are no tokens: whoever reaches this ledger may do everything, and it is served on loopback only.")
        return
    shown = table("id", "agent", "scopes", "created (UTC)", "expires (UTC)")
    for kept in tokens:
        expires = moment(kept.expires) if kept.expires else "never"
        shown.add_row(kept.id, kept.agent, ", ".join(kept.scopes), moment(kept.created), expires)
    out().print(shown)


@app.command("revoke")
def revoke(
    context: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `token list` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Make a token worthless at once, in a running server too.

    Example: tallystick token revoke 3f2a9c1e
    """
    from api.auth import TokenStore
    from api.cli.output import print_json

    tokens = TokenStore(ledger_of(context))
    gone = tokens.revoke(token_id)
    if as_json:
        print_json({"id": gone.id, "agent": gone.agent, "revoked": True})
        return
    typer.echo(f"Token {gone.id} of {gone.agent} is worthless now.")
    if not tokens.list():
        typer.echo(f"It was the last one: nobody is let in now. Make another, or remove {tokens.path}.")


def _public(kept: "Token") -> dict[str, object]:
    """What may be told of a token."""
    names = ("id", "agent", "scopes", "created", "expires")
    return {name: getattr(kept, name) for name in names}
