"""Tokens of a ledger in PostgreSQL: one list for all nodes, that a server reads again when it changes."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from api.principal import Principal, TokensUnreadable, Unauthenticated
from api.service.ledger import LedgerService
from api.service.shared_tokens import SharedTokens, open_tokens
from api.token_store import Token, TokenStore
from ledger.clock import system_clock
from ledger.errors import LedgerUnusable, NotFound
from ledger.place import Place
from tests.ledger.postgres.places import LEDGER, new_ledger, schema_sql
from tests.support.event_loop import run
from tests.support.postgres import PostgresServer, Primary, postgres_server, requires_postgres

_Result = TypeVar("_Result")


async def places(server: PostgresServer, folder: Path, *names: str) -> list[Place]:
    """A new ledger, as nodes with folders of their own know it."""
    database = await new_ledger(server)
    found = []
    for name in names:
        (folder / name).mkdir()
        found.append(Place(folder / name / LEDGER, database, "local"))
    return found


async def command(place: Place, work: Callable[[TokenStore], _Result]) -> _Result:
    """Run what a command does with the tokens; it has no event loop."""
    return await asyncio.to_thread(lambda: work(open_tokens(place)))


def add(agent: str) -> Callable[[TokenStore], tuple[Token, str]]:
    return lambda tokens: tokens.add(agent, ("read",), system_clock())


async def until_accepted(node: LedgerService, secret: str) -> Principal:
    while True:
        try:
            return node.tokens.identify(f"Bearer {secret}")
        except Unauthenticated:
            await asyncio.sleep(0.05)


async def until_refused(node: LedgerService, secret: str) -> None:
    while True:
        try:
            node.tokens.identify(f"Bearer {secret}")
        except Unauthenticated:
            return
        await asyncio.sleep(0.05)


@pytest.mark.slow
def test_a_token_made_or_revoked_anywhere_is_so_at_every_node(postgres: PostgresServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        *of_nodes, of_command = await places(postgres, tmp_path, "a", "b", "c")
        nodes = [await LedgerService.open(place, writable=True) for place in of_nodes]
        assert [node.tokens.required() for node in nodes] == [False, False]
        made, secret = await command(of_command, add("ada"))
        for node in nodes:
            await until_refused(node, "none")
            assert (await until_accepted(node, secret)).agent == "ada"
            with pytest.raises(Unauthenticated):
                node.tokens.identify("Bearer tally_other")
        assert [token.id for token in await command(of_nodes[0], TokenStore.list)] == [made.id]
        assert (await command(of_command, lambda tokens: tokens.revoke(made.id))) == made
        for node in nodes:
            await until_refused(node, secret)
            assert node.tokens.required(), "a ledger that had a token requires one"
        with pytest.raises(NotFound):
            await command(of_command, lambda tokens: tokens.revoke(made.id))
        for node in nodes:
            await node.close()
        opened = await LedgerService.open(of_command, writable=False)
        assert opened.tokens.required()
        await opened.close()

    run(scenario())


@pytest.mark.slow
def test_commands_at_once_lose_no_token(postgres: PostgresServer, tmp_path: Path) -> None:
    (place,) = run(places(postgres, tmp_path, "a"))
    with ThreadPoolExecutor(6) as threads:
        made = list(
            threads.map(lambda number: open_tokens(place).add(f"a{number}", ("read",), system_clock()), range(6))
        )
    assert {token.id for token in open_tokens(place).list()} == {token.id for token, _ in made}
    assert place.database is not None
    assert schema_sql(place.database, postgres, "SELECT version FROM notes WHERE name = 'tokens'") == "6"


@pytest.mark.slow
def test_a_list_that_vanishes_with_an_older_copy_keeps_every_caller_out(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async def scenario() -> None:
        (place,) = await places(postgres, tmp_path, "a")
        assert place.database is not None
        _, secret = await command(place, add("ada"))
        node = await LedgerService.open(place, writable=True)
        node.tokens.remember()
        await until_accepted(node, secret)
        await asyncio.to_thread(schema_sql, place.database, postgres, "DELETE FROM notes")
        await until_refused(node, secret)
        assert node.tokens.fault is not None
        await node.close()
        again = await LedgerService.open(place, writable=True)
        assert again.tokens.required(), "the folder of the node remembers it"
        await again.close()

    run(scenario())


@pytest.mark.slow
def test_a_damaged_list_keeps_every_caller_out(postgres: PostgresServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        (place,) = await places(postgres, tmp_path, "a")
        assert place.database is not None
        _, secret = await command(place, add("ada"))
        await asyncio.to_thread(schema_sql, place.database, postgres, "UPDATE notes SET content = '?'")
        node = await LedgerService.open(place, writable=True)
        with pytest.raises(TokensUnreadable, match="The list of tokens in the database cannot be read"):
            node.tokens.identify(f"Bearer {secret}")
        await node.close()

    run(scenario())


def test_a_list_that_was_never_read_keeps_every_caller_out(tmp_path: Path) -> None:
    place = Place.parse("postgresql://127.0.0.1:1/db?ledger=acme", tmp_path)
    tokens = TokenStore(SharedTokens(place))
    with pytest.raises(TokensUnreadable):
        tokens.identify(None)
    with pytest.raises(LedgerUnusable, match="was not read yet"):
        tokens.list()


@pytest.fixture
def primary() -> Iterator[Primary]:
    with postgres_server() as server:
        yield server


@pytest.mark.slow
@requires_postgres
def test_while_the_database_is_away_the_last_list_is_used(primary: Primary, tmp_path: Path) -> None:
    async def scenario() -> None:
        (place,) = await places(primary, tmp_path, "a")
        _, secret = await command(place, add("ada"))
        node = await LedgerService.open(place, writable=True)
        await until_accepted(node, secret)
        await asyncio.to_thread(primary.stop, "immediate")
        for _ in range(6):
            assert node.tokens.identify(f"Bearer {secret}").agent == "ada"
            with pytest.raises(Unauthenticated):
                node.tokens.identify("Bearer tally_other")
            await asyncio.sleep(0.3)
        await asyncio.to_thread(primary.start)
        _, second = await command(place, add("bob"))
        await until_accepted(node, second)
        await node.close()

    run(scenario())
