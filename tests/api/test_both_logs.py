"""The same history on SQLite and on PostgreSQL: answers, lines, roots, views, exports, proofs are equal, all bytes."""

import asyncio
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import Phase, given, settings

import ledger.postgres.writer
import ledger.sqlite.writer
from api.export import open_export, parse_selection, write_export
from api.service.ledger import LedgerService
from api.service.projections import ProjectionQuery, get_projection, get_projections, replay_projections
from api.service.store import LocalStore
from api.verify import verify_ledger
from events.errors import TallystickError
from ledger.log import Query
from ledger.place import DatabasePlace, Host, Place
from ledger.postgres.create import create_ledger
from ledger.transparency import checkpoints, shared_checkpoints
from ledger.transparency.signed_note import Signer
from projections.shared_params import NoParams
from tests.api.histories import Exports, Looks, Reopens, Step, answered, histories
from tests.projections.random_histories import DAWN
from tests.support.postgres import PostgresServer, Primary, new_database, new_schema_name

EXPORT_PARAMETERS: dict[str, str] = {"evidence": "true"}
ORIGIN = "tests.example/both"
STREAMS = [f"{kind}/{name}{number}" for kind, name in (("decision", "d"), ("thought", "t")) for number in range(4)]


class _Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = DAWN

    def __call__(self) -> datetime:
        return self.now


class Session:
    """A ledger that a history is done on."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place = place
        self.clock = _Clock()
        self.service: LedgerService
        self._folder = folder
        self._exports = 0

    async def open(self) -> None:
        self.service = await LedgerService.open(self.place, writable=True, clock=self.clock, views=False)

    async def do(self, step: Step) -> object:
        """What the ledger answers to a step; the next one is a second later."""
        self.clock.now += timedelta(seconds=1)
        if isinstance(step, Reopens):
            await self.service.close()
            await self.open()
            return None
        if isinstance(step, Looks):
            return await self.look(step.query)
        if isinstance(step, Exports):
            return await self.export(step.parameters)
        return await answered(step, LocalStore(self.service))

    async def look(self, query: Query) -> object:
        """A page, and the counts of its events."""
        reader = self.service.reader
        page = await reader.read(query)
        narrowed = await self.service.read(query) if query.after <= (await reader.head()).position else page
        same = (narrowed.ndjson, list(narrowed.positions)) == (page.ndjson, list(page.positions))
        return page.ndjson, list(page.positions), page.more, list(page.firsts), same, await reader.counts(query)

    async def export(self, parameters: dict[str, str]) -> object:
        """The files of an export, all bytes; or the refusal."""
        self._exports += 1
        target = self._folder / f"export-{self._exports}"
        try:
            async with open_export(self.service, parse_selection(parameters)) as export:
                await write_export(export, target, lambda done, total: None)
        except TallystickError as error:
            return type(error).__name__, error.detail, error.advice
        return {
            str(file.relative_to(target)): file.read_bytes() for file in sorted(target.rglob("*")) if file.is_file()
        }

    async def sum_up(self) -> list[object]:
        """All that the ledger holds: lines, root, checkpoint, proofs, views, and what can be looked up."""
        service, reader = self.service, self.service.reader
        head = await reader.head()
        found: list[object] = [head, await self.look(Query(limit=10_000))]
        found.append(await service.proving.tree.root(head.position))
        found.append((await service.proving.checkpoint(head.position)).note.encode())
        found.append([(await service.proving.receipt(at)).encode() for at in range(1, head.position + 1, 7)])
        replayed = await replay_projections(service, check=True)
        assert all(one.same for one in replayed), replayed
        found += [replayed, await get_projections(service, NoParams())]
        found.append([await get_projection(service, ProjectionQuery(name=one.name)) for one in replayed])
        found.append(
            [
                await get_projection(await service.past(head.position // 2), ProjectionQuery(name=one.name))
                for one in replayed
            ]
        )
        positions = range(1, head.position + 1)
        found.append(await reader.subjects(list(positions)))
        found.append([await reader.recorded_at(at) for at in positions])
        found.append([await reader.position_at(await reader.recorded_at(at)) for at in positions])
        found.append(sorted((await reader.first_positions(STREAMS)).items()))
        found.append([sorted((await reader.positions_in_stream(name, range(1, 9))).items()) for name in STREAMS])
        found.append([await reader.positions_of_id(f"e{number}", 5) for number in range(9)])
        found.append([await reader.streams_starting_with(text, head.position, 9) for text in ("", "decision/", "d")])
        found.append(await self.export(EXPORT_PARAMETERS))
        return found


def _encoded(place: Place, answer: object) -> bytes:
    """An answer as bytes, without the name of the place."""
    encoded = msgspec.json.encode(answer)
    for name in (str(place), str(place.path)):
        encoded = encoded.replace(name.encode(), b"PLACE")
    return encoded


async def _all_answers(place: Place, folder: Path, steps: Sequence[Step]) -> list[bytes]:
    session = Session(place, folder)
    await session.open()
    try:
        answers = [await session.do(step) for step in steps]
        answers += await session.sum_up()
    finally:
        await session.service.close()
    return [_encoded(place, answer) for answer in answers]


def _check_history(server: PostgresServer, database: str, steps: Sequence[Step]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        signer = Signer.make(ORIGIN)
        there = DatabasePlace(
            hosts=(Host(server.host, server.port),), database=database, ledger=new_schema_name(), user="postgres"
        )
        places = [Place(folder / "sqlite" / "acme"), Place(folder / "postgres" / "acme", there, "local")]
        for place in places:
            place.path.parent.mkdir()
            place.path.with_name("acme.key").write_text(signer.secret() + "\n", encoding="utf-8")
        asyncio.run(create_ledger(there))
        first, second = (asyncio.run(_all_answers(place, place.path.parent, steps)) for place in places)
        for number, (one, other) in enumerate(zip(first, second, strict=True)):
            assert one == other, steps[number] if number < len(steps) else f"part {number - len(steps)} of the sum"
        reports = [verify_ledger(place, str(signer.verifier), None, quick=False) for place in places]
        assert [report.first for report in reports] == [None, None]
        assert reports[0].root == reports[1].root


@pytest.fixture(scope="module")
def database(postgres: Primary) -> str:
    return new_database(postgres)


@pytest.fixture(autouse=True, scope="module")
def same_draws() -> object:
    """Ids that the ledger draws are equal, and a checkpoint is signed without waiting for a second."""
    with pytest.MonkeyPatch.context() as patched:
        drawn = SimpleNamespace(Random=lambda: random.Random(20))
        patched.setattr(ledger.sqlite.writer, "random", drawn)
        patched.setattr(ledger.postgres.writer, "random", drawn)
        for module in (checkpoints, shared_checkpoints):
            patched.setattr(module, "SIGNING_INTERVAL_S", 0.0)
        yield


def _test(examples: int, max_events: int) -> object:
    @pytest.mark.slow
    @given(steps=histories(local=True, max_events=max_events))
    @settings(max_examples=examples, deadline=None, phases=(Phase.reuse, Phase.generate))
    def check(postgres: Primary, database: str, steps: list[Step]) -> None:
        _check_history(postgres, database, steps)

    return check


test_both_logs_give_the_same_answers = _test(examples=12, max_events=20)
test_many_histories_are_the_same_on_both_logs = pytest.mark.slow(_test(examples=60, max_events=60))
