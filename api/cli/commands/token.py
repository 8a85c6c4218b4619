"""token: make, list and revoke the access tokens of agents."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import argument, choice, option
from api.cli.output import open_console, print_json, print_note, table_of
from api.text_format import format_time

if TYPE_CHECKING:
    from api.token_store import Token, TokenStore

SCOPES = ("append", "read", "review", "observe", "import", "admin")
REVIEW_POLICIES = ("any", "others", "none")
DELIBERATION_POLICIES = ("auto", "off")


@verb()
def add(
    target: LedgerTarget,
    agent: Annotated[str, argument("The agent's name.")],
    scope: Annotated[
        list[str] | None, choice("What the token allows; may be repeated.  \\[default: append, read]", SCOPES)
    ] = None,
    review: Annotated[
        str, choice("Which decisions it may review: of any agent, only of others, or none.", REVIEW_POLICIES)
    ] = "any",
    deliberation: Annotated[
        str | None,
        choice("auto: what it queries and checks becomes inputs of its next decision.", DELIBERATION_POLICIES),
    ] = None,
    days: Annotated[int | None, option("Days until the token expires; without it, never.", min=1, max=36_500)] = None,
) -> None:
    """Make a token and print it once.

    It is printed alone on standard output. The ledger keeps only its hash.

    Example: TOKEN=$(tallystick token add claude --scope append --scope read)
    """
    from typing import cast

    from api.principal import DEFAULT_SCOPES, DeliberationPolicy, ReviewPolicy, Scope
    from ledger.clock import system_clock

    scopes = cast(tuple[Scope, ...], tuple(dict.fromkeys(scope))) if scope else DEFAULT_SCOPES
    target.place.make_folder()
    token, secret = _open_tokens(target).add(
        agent, scopes, system_clock(), days, cast(ReviewPolicy, review), cast(DeliberationPolicy | None, deliberation)
    )
    if target.json:
        print_json({**_public_fields(token), "token": secret})
        return
    until = f", until {format_time(token.expires)} UTC" if token.expires else ""
    policy = "" if token.review == "any" else f", may review {'only others' if token.review == 'others' else 'nothing'}"
    print_note(f"Token {token.id} of {agent} ({', '.join(token.scopes)}){policy}{until}. It is shown only this once:")
    typer.echo(secret)


@verb()
def list_tokens(target: LedgerTarget) -> None:
    """List the tokens with their agents and scopes.

    The secrets themselves are not stored.

    Example: tallystick token list
    """
    store = _open_tokens(target)
    tokens = store.list()
    if target.json:
        print_json([_public_fields(token) for token in tokens])
        return
    if not tokens and store.had_tokens():
        print_note("No tokens, but the ledger had some: a server refuses every caller until a token is made.")
        return
    if not tokens:
        print_note("No tokens: every local user may do everything, and the server listens on loopback only.")
        return
    table = table_of(
        tokens,
        {"id": "id", "agent": "agent", "scopes": "scopes", "review": "review", "created (UTC)": "created",
         "expires (UTC)": lambda token: token.expires or "never"},
        wrap=("agent", "scopes"), drop=("created (UTC)", "review"),
    )  # fmt: skip
    open_console().print(table)


@verb()
def revoke(
    target: LedgerTarget,
    token_id: Annotated[str, argument("The token's id, as `token list` shows it.", "ID")],
) -> None:
    """Revoke a token at once, also in a running server.

    Example: tallystick token revoke 3f2a9c1e
    """
    tokens = _open_tokens(target)
    revoked = tokens.revoke(token_id)
    if target.json:
        print_json({"id": revoked.id, "agent": revoked.agent, "revoked": True})
        return
    typer.echo(f"Token {revoked.id} of {revoked.agent} is revoked.")
    if not tokens.list():
        typer.echo("It was the last one: now nobody has access. Make another: tallystick token add AGENT.")


def _open_tokens(target: LedgerTarget) -> "TokenStore":
    """Return the tokens of a ledger. Errors: LedgerUnusable, LedgerUnavailable."""
    from api.token_store import TokenStore

    if target.place.database is None:
        return TokenStore(target.place.path)
    from api.service.shared_tokens import open_tokens

    return open_tokens(target.place)


def _public_fields(token: "Token") -> dict[str, object]:
    """Return the fields of a token that may be shown."""
    names = ("id", "agent", "scopes", "review", "created", "expires")
    shown = {name: getattr(token, name) for name in names}
    return shown if token.deliberation is None else {**shown, "deliberation": token.deliberation}
