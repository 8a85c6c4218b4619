"""Commands on a ledger in PostgreSQL that read it as a whole, and moving one as a user does, also if that is killed."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from api.importers.ledger_move import PAGE_EVENTS
from benchmarks.ledgers import make_ledger
from ledger.place import DatabasePlace
from tests.api.cli.command import command, done, environment, refused, tally
from tests.api.verify.sealed_ledger import SIZE, Sealed, sealed
from tests.ledger.postgres.places import empty_place, schema_sql
from tests.support.event_loop import run
from tests.support.paths import ROOT
from tests.support.postgres import Primary, postgres_server, requires_postgres

pytestmark = [pytest.mark.slow, requires_postgres]

LARGE = 4 * PAGE_EVENTS
ATTEMPTS = 5


@pytest.fixture(scope="module")
def cluster(postgres_programs: Path) -> Iterator[Primary]:
    """A cluster whose commits wait for a standby, as the commands demand by default."""
    assert postgres_programs.is_dir()
    with postgres_server(standbys=1) as server:
        server.synchronous("ANY 1 (standby1)")
        yield server


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.db"
    run(make_ledger(path, LARGE))
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> Sealed:
    return sealed(tmp_path / "t.db")


def root_of(ledger: Path | str, *options: str) -> str:
    """The root that `verify` computes; nothing may be wrong."""
    report = msgspec.json.decode(done(Path(ledger), *options, "verify", "--json").out)
    assert report["right"], report
    return str(report["root"])


def in_database(place: DatabasePlace, tmp_path: Path, *words: str | Path, code: int = 0) -> str:
    """Run a verb on a ledger in PostgreSQL; what it printed."""
    variables = {"TALLYSTICK_LEDGER": str(place), "TALLYSTICK_STATE": str(tmp_path / "state")}
    line = [word for word in command(tmp_path, *words) if word not in ("--ledger", str(tmp_path))]
    ended = subprocess.run(line, cwd=ROOT, env=environment(**variables), capture_output=True, check=False)
    assert ended.returncode == code, ended.stderr.decode()
    return (ended.stdout or ended.stderr).decode()


def test_a_ledger_is_moved_and_every_whole_read_works(ledger: Sealed, cluster: Primary, tmp_path: Path) -> None:
    place, state = empty_place(cluster), tmp_path / "state"
    root = root_of(ledger.path)
    moved = done(ledger.path, "--state", state, "import", "ledger", ledger.path, "--to", str(place))
    assert f"{SIZE} events with 1 piece of evidence, root {root}" in moved.text
    assert f"{ledger.path} is sealed" in moved.err
    assert f"was moved to {place}" in refused(ledger.path, "record", "ship it again")
    assert root_of(ledger.path) == root, "it can still be read"

    report = msgspec.json.decode(in_database(place, tmp_path, "verify", "--json", "--key", ledger.key))
    assert (report["right"], report["root"], report["key_given"]) == (True, root, True)
    assert in_database(place, tmp_path, "replay", "--check").count("the same") > 5
    in_database(place, tmp_path, "export", "--output", tmp_path / "audit.zip", "--evidence")
    assert msgspec.json.decode(done(ledger.path, "verify", tmp_path / "audit.zip", "--json").out)["root"] == root
    receipt = tmp_path / "receipt.txt"
    in_database(place, tmp_path, "receipt", str(SIZE), "--output", receipt)
    done(ledger.path, "receipt", "--check", receipt, "--key", ledger.key)
    assert f"root {root}" in in_database(place, tmp_path, "backup", tmp_path / "b.db")
    assert root_of(tmp_path / "b.db") == root
    assert "then move it" in in_database(place, tmp_path, "restore", tmp_path / "t.db", code=2)

    done(ledger.path, "--state", state, "import", "ledger", str(place), "--to", tmp_path / "copy.db", "--keep")
    assert root_of(tmp_path / "copy.db") == root
    done(tmp_path / "restored.db", "restore", tmp_path / "copy.db")
    assert root_of(tmp_path / "restored.db") == root


def test_options_that_do_not_fit_are_refused(ledger: Sealed, cluster: Primary, tmp_path: Path) -> None:
    done(ledger.path, "export", "--output", tmp_path / "audit.zip")
    to = tmp_path / "again.db"
    said = refused(ledger.path, "import", "ledger", tmp_path / "audit.zip", "--to", to, "--keep")
    assert "is not a ledger that can be moved" in said
    assert "is the ledger itself" in refused(ledger.path, "import", "ledger", ledger.path, "--to", ledger.path)
    assert not to.exists()
    place = empty_place(cluster)
    local = str(place).replace(f":{cluster.port}", f":{cluster.standby(1).port}")
    assert "error: " in refused(ledger.path, "import", "ledger", ledger.path, "--to", local)
    assert done(ledger.path, "log", "--limit", "1").text, "it is not sealed"
    assert not ledger.path.with_name("t.db.moved").exists()


def test_a_killed_move_into_postgresql_continues(large: Path, cluster: Primary, tmp_path: Path) -> None:
    root = root_of(large)
    for _ in range(ATTEMPTS):
        place = empty_place(cluster)
        words = command(large, "--state", tmp_path / "state", "import", "ledger", large, "--to", str(place), "--keep")
        process = subprocess.Popen(words, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL)
        while process.poll() is None and not _position(cluster, place):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if 0 < _position(cluster, place) < LARGE:
            break
    else:
        pytest.fail("no attempt was killed in the middle")
    assert "is incomplete" in in_database(place, tmp_path, "log", code=2)
    assert root_of(large) == root
    _wait_for_end_of_session(cluster, place)
    assert tally(large, *words[5:]).code == 0
    report = msgspec.json.decode(in_database(place, tmp_path, "verify", "--json"))
    assert (report["right"], report["root"], report["events"]) == (True, root, LARGE)


def test_a_killed_move_out_of_postgresql_is_repeated(large: Path, cluster: Primary, tmp_path: Path) -> None:
    place, state, back = empty_place(cluster), tmp_path / "state", tmp_path / "back.db"
    root = root_of(large)
    done(large, "--state", state, "import", "ledger", large, "--to", str(place), "--keep")
    part = back.with_name("back.db.part")
    words = ("--state", state, "import", "ledger", str(place), "--to", back)
    process = subprocess.Popen(command(large, *words), cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL)
    while not (part.exists() and part.stat().st_size > 1 << 20) and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not back.exists()
    assert msgspec.json.decode(in_database(place, tmp_path, "verify", "--json"))["root"] == root
    done(large, *words)
    assert root_of(back) == root
    assert f"was moved to {back}" in in_database(place, tmp_path, "record", "ship it", code=2)


def _position(server: Primary, place: DatabasePlace) -> int:
    """The position that an import has reached; 0 before it has begun."""
    exists = server.psql(f"SELECT to_regclass('tallystick_{place.ledger}.head') IS NOT NULL", place.database)
    return int(schema_sql(place, server, "SELECT position FROM head")) if exists == "t" else 0


def _wait_for_end_of_session(server: Primary, place: DatabasePlace) -> None:
    """Wait until the server has noticed that the killed process is gone."""
    sessions = (
        f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{place.database}' AND application_name = 'tallystick'"
    )
    while server.psql(sessions) != "0":
        time.sleep(0.01)
