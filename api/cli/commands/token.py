"""token: access tokens of agents."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import choice

if TYPE_CHECKING:
    from api.token_store import Token

SCOPES = ("append", "read", "import", "admin")


@verb()
def add(
    target: LedgerTarget,
    agent: Annotated[str, typer.Argument(help="The agent's name.")],
    scope: Annotated[
        list[str] | None,
        choice("What the token allows; may be repeated.  \\[default: append, read]", SCOPES),
    ] = None,
    days: Annotated[
        int | None, typer.Option(help="Days until the token expires; without it, never.", min=1, max=36_500)
    ] = None,
) -> None:
    """Make a token and print it once.

    It is printed alone on standard output. The ledger keeps only its hash.

    Example: TOKEN=$(tallystick token add claude --scope append --scope read)
    """
    from typing import cast

    from api.auth import DEFAULT_SCOPES, Scope
    from api.cli.output import print_json, print_note
    from api.text import moment
    from api.token_store import TokenStore
    from ledger import system_clock

    scopes = cast(tuple[Scope, ...], tuple(dict.fromkeys(scope))) if scope else DEFAULT_SCOPES
    kept, secret = TokenStore(target.ledger).add(agent, scopes, system_clock(), days)
    if target.json:
        print_json({**_public(kept), "token": secret})
        return
    until = f", until {moment(kept.expires)} UTC" if kept.expires else ""
    print_note(f"Token {kept.id} of {agent} ({', '.join(kept.scopes)}){until}. It is shown only this once:")
    typer.echo(secret)


@verb()
def list_tokens(target: LedgerTarget) -> None:
    """List the tokens with their agents and scopes.

    The secrets themselves are not stored.

    Example: tallystick token list
    """
    from api.cli.output import make_table, open_console, print_json, print_note
    from api.text import moment
    from api.token_store import TokenStore

    tokens = TokenStore(target.ledger).list()
    if target.json:
        print_json([_public(kept) for kept in tokens])
        return
    if not tokens:
        print_note("No tokens: every local user may do everything, and the server listens on loopback only.")
        return
    shown = make_table("id", "agent", "scopes", "created (UTC)", "expires (UTC)")
    for kept in tokens:
        expires = moment(kept.expires) if kept.expires else "never"
        shown.add_row(kept.id, kept.agent, ", ".join(kept.scopes), moment(kept.created), expires)
    open_console().print(shown)


@verb()
def revoke(
    target: LedgerTarget,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `token list` shows it.")],
) -> None:
    """Revoke a token at once, also in a running server.

    Example: tallystick token revoke 3f2a9c1e
    """
    from api.cli.output import print_json
    from api.token_store import TokenStore

    tokens = TokenStore(target.ledger)
    gone = tokens.revoke(token_id)
    if target.json:
        print_json({"id": gone.id, "agent": gone.agent, "revoked": True})
        return
    typer.echo(f"Token {gone.id} of {gone.agent} is revoked.")
    if not tokens.list():
        typer.echo(f"It was the last one: now nobody has access. Make another, or remove {tokens.path}.")


def _public(kept: "Token") -> dict[str, object]:
    """Return the fields of a token that may be shown."""
    names = ("id", "agent", "scopes", "created", "expires")
    return {name: getattr(kept, name) for name in names}
