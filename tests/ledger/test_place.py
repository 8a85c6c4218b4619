"""Places of ledgers: files, and databases of PostgreSQL with everything that may be wrong in their addresses."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import InvalidQuery
from ledger.place import PORT_MAX, SSL_MODES, DatabasePlace, Host, Place, default_state

STATE = Path("/var/lib/node")

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(str.isprintable)
HOSTS = st.builds(
    Host,
    st.one_of(
        st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\.[a-z]{2,4})?", fullmatch=True),
        st.ip_addresses(v=6).map(str),
        st.ip_addresses(v=4).map(str),
    ),
    st.integers(1, PORT_MAX),
)
DATABASES = st.builds(
    DatabasePlace,
    hosts=st.lists(HOSTS, min_size=1, max_size=3).map(tuple),
    database=TEXT,
    ledger=st.from_regex(r"[a-z][a-z0-9_]{0,39}", fullmatch=True),
    user=st.none() | TEXT,
    sslmode=st.none() | st.sampled_from(SSL_MODES),
    sslrootcert=st.none() | TEXT,
    sslcert=st.none() | TEXT,
    sslkey=st.none() | TEXT,
)


def database(text: str) -> DatabasePlace:
    found = Place.parse(text, STATE).database
    assert found is not None
    return found


def refusal(text: str) -> str:
    with pytest.raises(InvalidQuery) as refused:
        Place.parse(text, STATE)
    assert refused.value.field == "ledger"
    assert refused.value.advice
    return f"{refused.value.detail} {refused.value.advice}"


@given(DATABASES)
def test_the_address_of_a_database_is_parsed_as_it_is_written(place: DatabasePlace) -> None:
    assert database(str(place)) == place
    assert Place.parse(str(place), STATE) == Place(STATE / place.ledger, place)


@given(DATABASES, st.sampled_from(["postgres", "PostgreSQL", "postgresql"]))
def test_every_spelling_of_the_scheme_is_the_same_place(place: DatabasePlace, scheme: str) -> None:
    spelled = str(place).replace("postgresql", scheme, 1)
    assert str(Place.parse(spelled, STATE)) == str(place)


@pytest.mark.parametrize("text", ["tallystick.db", "./a/b.db", "/var/x.db", "a:b.db", "postgresql:x", "a b?c=d"])
def test_everything_without_a_scheme_is_a_file(text: str) -> None:
    place = Place.parse(text)
    assert (place.path, place.database, str(place)) == (Path(text), None, str(Path(text)))
    assert place.require_file("tallystick backup", "Nothing.") == Path(text)


def test_the_parts_of_an_address() -> None:
    found = database(
        "postgresql://ann@n1,n2:5433,[::1]:6000/my%20db?sslmode=verify-full&ledger=acme_1&sslrootcert=/a%40b"
    )
    assert found.hosts == (("n1", 5432), ("n2", 5433), ("::1", 6000))
    assert (found.user, found.database, found.ledger) == ("ann", "my db", "acme_1")
    assert (found.sslmode, found.sslrootcert, found.sslcert, found.sslkey) == ("verify-full", "/a@b", None, None)
    assert (
        str(found)
        == "postgresql://ann@n1,n2:5433,[::1]:6000/my%20db?ledger=acme_1&sslmode=verify-full&sslrootcert=/a%40b"
    )


@given(
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.sampled_from(["ann", "", "a%20b"]),
)
def test_a_password_is_refused_and_never_repeated(before: str, after: str, user: str) -> None:
    password = f"{before}Sw0rdfish{after}"
    for written in (password, quote(password, safe="")):
        said = refusal(f"postgresql://{user}:{written}@n1/db?ledger=acme")
        assert "contains a password" in said
        assert "PGPASSFILE" in said
        assert "~/.pgpass" in said
        assert "Sw0rdfish" not in said


@pytest.mark.parametrize("part", ["password=Sw0rdfish", "sslpassword=Sw0rdfish", "Sw0rdfish", "pasword=Sw0rdfish"])
def test_a_parameter_with_a_password_does_not_appear_in_the_error(part: str) -> None:
    assert "Sw0rdfish" not in refusal(f"postgresql://n1/db?ledger=acme&{part}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("postgresql://n1/db", "the parameter ledger is missing"),
        ("postgresql://n1/db?ledger=", "the name of the ledger is not valid.*1..40 lower-case letters"),
        ("postgresql://n1/db?ledger=Acme", "the name of the ledger is not valid"),
        ("postgresql://n1/db?ledger=1a", "the name of the ledger is not valid"),
        ("postgresql://n1/db?ledger=" + "a" * 41, "the name of the ledger is not valid"),
        ("postgresql://n1/db?ledgr=acme", "ledgr is not a parameter.*Did you mean ledger?"),
        ("postgresql://n1/db?ledger=a&ssl_mode=require", "ssl_mode is not a parameter.*Did you mean sslmode?"),
        ("postgresql://n1/db?ledger=a&connect_timeout=3", "connect_timeout is not a parameter.*Its parameters are"),
        ("postgresql://n1/db?ledger=a&ledger=b", "names ledger twice"),
        ("postgresql://n1/db?ledger=a&sslmode=verify_full", "sslmode is not valid.*Did you mean verify-full?"),
        ("postgresql://n1/db?ledger=a&sslmode=none", "sslmode is not valid.*Choose one of disable, allow"),
        ("postgresql://n1/db?ledger=a&sslkey=", "sslkey is empty"),
        ("postgresql://n1/db?ledger=a&sslkey=%00", "sslkey is empty, or has characters"),
        ("postgresql://n1/%ff?ledger=a", "database is empty, or has characters"),
        ("postgresql://@n1/db?ledger=a", "user is empty"),
        ("postgresql://n1?ledger=a", "names no database"),
        ("postgresql://n1/?ledger=a", "names no database"),
        ("postgresql:///db?ledger=a", "names no host"),
        ("postgresql://n1,,n2/db?ledger=a", "names no host"),
        ("postgresql://n_!/db?ledger=a", "names no host, or one that is not valid"),
        ("postgresql://[::1/db?ledger=a", "names no host"),
        ("postgresql://[::g]/db?ledger=a", "names no host"),
        ("postgresql://n1:0/db?ledger=a", "the port of n1 is not valid.*1..65535"),
        ("postgresql://n1:65536/db?ledger=a", "the port of n1 is not valid"),
        ("postgresql://n1:/db?ledger=a", "the port of n1 is not valid"),
        ("postgresql://n1:٣/db?ledger=a", "the port of n1 is not valid"),
        ("postgresql://n1:" + "9" * 5_000 + "/db?ledger=a", "the port of n1 is not valid"),
        ("postgressql://n1/db?ledger=a", "postgressql:// is not the address.*Did you mean postgresql://?"),
        ("https://n1:8321", "https:// is not the address.*Name a server with --url"),
        ("sqlite:///x.db", "sqlite:// is not the address.*Name a file, or a database"),
    ],
)
def test_what_is_wrong_in_an_address(text: str, said: str) -> None:
    assert re.search(said, refusal(text))


def test_a_database_has_no_file() -> None:
    place = Place.parse("postgresql://n1/db?ledger=acme", STATE)
    with pytest.raises(
        InvalidQuery, match=r"tallystick backup works on a ledger file, and postgresql://n1/db\?ledger=acme"
    ):
        place.require_file("tallystick backup", "Use pg_dump.")
    assert place.may_exist()


def test_ledgers_of_two_clusters_share_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    addresses = ("n1/db", "n2/db", "n1/db2", "n1:5433/db", "n1,n2/db", "n1/d%2fb", "n1/d_b", "[::1]/db")
    paths = {Place.parse(f"postgresql://{address}?ledger=acme").path for address in addresses}
    assert len({path.parent for path in paths}) == len(addresses)
    assert {path.parent.parent for path in paths} == {tmp_path / "tallystick"}
    assert {path.name for path in paths} == {"acme"}
    one, *same = (
        Place.parse(f"postgresql://{address}?ledger=acme").path
        for address in ("n1,n2:5433/db", "n2:5433,n1/db", "ann@N1:5432,n2:5433/db")
    )
    assert same == [one, one]


def test_the_state_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    place = Place.parse("postgresql://n1/db?ledger=acme", tmp_path / "a" / "b")
    place.make_folder()
    place.make_folder()
    assert place.path == tmp_path / "a" / "b" / "acme"
    assert place.path.parent.stat().st_mode & 0o777 == 0o700
    Place.parse(str(tmp_path / "none" / "x.db")).make_folder()
    assert not (tmp_path / "none").exists()


def test_a_relative_state_home_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", name)
        assert default_state() == tmp_path / ".local" / "state" / "tallystick"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert default_state() == tmp_path / ".local" / "state" / "tallystick"
