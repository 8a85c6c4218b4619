"""`tallystick ledger create | check | list`, and --durability."""

import json
import sys
from pathlib import Path

import pytest

from tests.api.cli.command import Ended
from tests.api.cli.lines import history
from tests.api.cli.terminal import on_a_terminal
from tests.api.cli.test_ledger_target import run
from tests.support.postgres import Primary, new_database, new_schema_name, postgres_server, requires_postgres
from tests.support.shared_place import LEDGER, address, new_role

pytestmark = pytest.mark.slow

COLUMNS = 80
LOCAL = ("--durability", "local")


def ledger(verb: str, place: str | Path, *words: str, code: int = 0, **variables: str) -> Ended:
    """Run a verb of the group; it must end with a code."""
    ended = run("ledger", verb, "--ledger", place, *words, given=b"", **variables)
    assert ended.code == code, ended
    return ended


def checked(place: str, *words: str, code: int = 0, **variables: str) -> dict[str, object]:
    """What `ledger check --json` prints."""
    report: dict[str, object] = json.loads(ledger("check", place, "--json", *words, code=code, **variables).out)
    assert report["right"] is (code == 0)
    assert (report["problems"] == []) is (code == 0)
    return report


@pytest.fixture
def place(postgres: Primary) -> str:
    """The owner's address of a ledger that does not exist yet, in a new database."""
    return address(postgres, new_database(postgres))


def test_a_ledger_is_made_listed_and_checked(postgres: Primary, place: str) -> None:
    role = new_role(postgres)
    assert json.loads(ledger("list", place, "--json").out) == {"ledgers": []}
    assert "The database has no ledger." in ledger("list", place).err
    made = json.loads(ledger("create", place, "--grant", role, "--json").out)
    assert made == {"ledger": place, "created": True, "granted": role}
    other = place.replace(f"ledger={LEDGER}", "ledger=other")
    assert ledger("create", other).text == f"Made {other}\n"
    assert json.loads(ledger("list", place, "--json").out) == {"ledgers": [LEDGER, "other"]}
    assert ledger("list", place.replace(f"ledger={LEDGER}", "ledger=any")).text.split() == ["ledger", LEDGER, "other"]
    for words in (("log",), ("--durability", "local", "record", "x", "--confidence", "0.5")):
        assert run("--ledger", place.replace("postgres@", f"{role}@"), *words, given=b"").code == 0
    report = checked(place.replace("postgres@", f"{role}@"), *LOCAL)
    assert (report["opens"], report["head"], report["tiles"], report["role"]) == (True, 1, 0, role)
    assert (report["may_append"], report["may_change"], report["superuser"]) == (True, False, False)
    assert (report["promised"], report["found"], report["warnings"]) == ("local", "local", [])
    assert report["primary"] == f"{postgres.host}:{postgres.port}"
    assert postgres.psql("SHOW server_version").startswith(str(report["version"]))


def test_a_ledger_that_exists_is_not_made_again_but_a_role_is_added(postgres: Primary, place: str) -> None:
    ledger("create", place)
    assert "exists already; nothing was overwritten." in ledger("create", place, code=2).err
    role = new_role(postgres)
    theirs = place.replace("postgres@", f"{role}@")
    assert "Grant the role access" in " ".join(map(str, checked(theirs, *LOCAL, code=1)["problems"]))  # type: ignore[call-overload]
    assert ledger("create", place, "--grant", role).text == (f"Exists: {place}\n{role} may append to it and read it.\n")
    assert checked(theirs, *LOCAL)["may_append"] is True
    said = ledger("create", place, "--grant", "nobody_at_all", code=2).err
    assert "--grant: the database has no role nobody_at_all." in said
    assert "permission denied" in ledger("create", theirs.replace(LEDGER, "third"), code=2).err


def test_a_check_says_how_a_role_that_may_only_read_may_append(postgres: Primary, place: str) -> None:
    ledger("create", place)
    role, schema = new_role(postgres), f"tallystick_{LEDGER}"
    database = place.rpartition("/")[2].partition("?")[0]
    postgres.psql(f"GRANT USAGE ON SCHEMA {schema} TO {role}", database)
    postgres.psql(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}", database)
    postgres.psql(f"GRANT UPDATE (barrier) ON {schema}.head TO {role}", database)
    report = checked(place.replace("postgres@", f"{role}@"), *LOCAL, code=1)
    assert (report["opens"], report["may_append"]) == (True, False)
    assert f"tallystick ledger create --grant {role}." in str(report["problems"])


def test_a_check_warns_of_a_role_that_may_change_the_ledger(postgres: Primary, place: str) -> None:
    ledger("create", place)
    report = checked(place, *LOCAL)
    assert (report["superuser"], report["may_change"]) == (True, True)
    assert "The role postgres is a superuser" in str(report["warnings"])
    owner = new_role(postgres)
    postgres.psql(f"GRANT CREATE ON DATABASE {place.rpartition('/')[2].partition('?')[0]} TO {owner}")
    theirs = place.replace("postgres@", f"{owner}@").replace(LEDGER, "theirs")
    ledger("create", theirs)
    report = checked(theirs, *LOCAL)
    assert (report["superuser"], report["may_change"]) == (False, True)
    assert f"The role {owner} may change the ledger." in str(report["warnings"])


def test_a_check_says_that_less_is_found_than_promised(place: str) -> None:
    ledger("create", place)
    for words in ((), ("--durability", "quorum")):
        report = checked(place, *words, code=1)
        assert (report["promised"], report["found"], report["opens"]) == ("quorum", "local", True)
        assert "--durability local" in str(report["problems"])
    assert checked(place, TALLYSTICK_DURABILITY="managed")["promised"] == "managed"
    assert "problem  " in ledger("check", place, code=1).text


def test_a_check_says_that_there_is_no_ledger_and_no_server(place: str) -> None:
    report = checked(place, *LOCAL, code=1)
    assert (report["opens"], "head" in report) == (False, False)
    assert "tallystick ledger create" in str(report["problems"])
    assert "cannot be opened" in ledger("check", "postgresql://127.0.0.1:1/db?ledger=acme", code=2).err


@requires_postgres
def test_a_check_counts_the_standbys_that_stream(tmp_path: Path) -> None:
    with postgres_server(standbys=1) as primary:
        place = address(primary, new_database(primary))
        ledger("create", place)
        assert checked(place, *LOCAL)["streaming"] == 1
        primary.synchronous("ANY 1 (standby1)")
        report = checked(place)
        assert (report["found"], report["synchronous_standby_names"]) == ("quorum", "ANY 1 (standby1)")
        role = new_role(primary)
        ledger("create", place, "--grant", role)
        assert checked(place.replace("postgres@", f"{role}@"))["streaming"] is None
        primary.standby(1).kill()
        report = checked(place, code=1)
        assert "did not confirm a write" in str(report["problems"])


def test_the_report_fits_a_terminal(place: str) -> None:
    ledger("create", place)
    words = (sys.executable, "-m", "tallystick", "ledger", "check", "--ledger", place, *LOCAL)
    shown = on_a_terminal(*words, columns=COLUMNS)
    facts = [line for line in shown.splitlines() if not line.startswith(("warning", "postgresql://"))]
    assert "local promised, local found" in shown
    assert max(map(len, shown.partition("warning")[0].splitlines())) <= COLUMNS
    assert any(line.split() == ["may", "append", "yes"] for line in facts)


def test_a_ledger_file_is_made_and_not_checked_or_listed(tmp_path: Path) -> None:
    file = tmp_path / "team.db"
    assert ledger("create", file).text == f"Made {file}\n"
    assert run("log", "--ledger", file).out == b""
    assert "exists already; nothing was overwritten." in ledger("create", file, code=2).err
    assert "has no roles" in ledger("create", tmp_path / "b.db", "--grant", "ann", code=2).err
    assert not (tmp_path / "b.db").exists()
    assert "Run tallystick doctor" in ledger("check", file, code=2).err
    assert "Name a database" in ledger("list", file, code=2).err


def test_durability_is_refused_beside_a_file_and_if_it_is_unknown(tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    assert run("append", "--ledger", file, given=history(2)).code == 0
    for words in ((*LOCAL, "--ledger", file, "log"), ("log", "--ledger", file, *LOCAL)):
        ended = run(*words, given=b"")
        assert (ended.code, ended.out) == (2, b"")
        assert f"--durability: {file} is a file: every confirmed commit is on its disk." in ended.err
    assert run("log", "--ledger", file, TALLYSTICK_DURABILITY="local").code == 0
    unknown = new_schema_name()
    place = f"postgresql://127.0.0.1:1/db?ledger={unknown}"
    said = run("log", "--ledger", place, "--durability", "locl", given=b"").err
    assert "--durability: 'locl' is not one of the choices.\nChoose one of quorum, local, managed." in said
    assert "TALLYSTICK_DURABILITY: 'locl'" in run("log", "--ledger", place, TALLYSTICK_DURABILITY="locl").err
