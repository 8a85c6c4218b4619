"""Where a ledger is: a file, or a database of PostgreSQL.

    tallystick.db
    postgresql://[USER@]HOST[:PORT][,HOST[:PORT]...]/DATABASE?ledger=NAME[&sslmode=MODE&sslrootcert=FILE...]

The address of a database never has a password: other users of the machine see the arguments of a process. Errors do not
repeat it, or any part of an address that may be one.
"""

import os
import re
from difflib import get_close_matches
from hashlib import sha256
from ipaddress import IPv6Address
from pathlib import Path
from typing import Literal, NamedTuple, Self, get_args
from urllib.parse import quote, unquote

import msgspec
from msgspec import structs

from ledger.errors import InvalidQuery, LedgerUnusable
from ledger.private_file import follow_typed_link

SCHEMES = ("postgresql", "postgres")
"""Both name PostgreSQL, as in its own programs."""

PORT = 5432
"""The port of PostgreSQL."""

PORT_MAX = 65_535

SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
SSL_PARAMETERS = ("sslmode", "sslrootcert", "sslcert", "sslkey")
PARAMETERS = ("ledger", *SSL_PARAMETERS)

LEDGER_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
"""The name of a ledger in a database, which names its schema."""

PASSWORD_ADVICE = "Put it into ~/.pgpass, or into the file that PGPASSFILE names."  # noqa: S105 - where one belongs

FORM = "postgresql://HOST/DATABASE?ledger=NAME"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_PASSWORD = re.compile(r"[^@]*:.*@", re.DOTALL)
"""A colon before an at sign, anywhere: a password may contain every character that ends a part of an address."""
_FILE_PARAMETER = re.compile(r"([?&]ssl(?:rootcert|cert|key)=)[^&]*")
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?")
_HOST_AND_PORT = re.compile(r"(\[[^]]*\]|[^:]*)(?::(.*))?", re.DOTALL)
_NEAR = 0.6
"""Words that are less similar (difflib's ratio) are not proposed."""


Durability = Literal["quorum", "local", "managed"]
"""What was promised about a confirmed commit in a database: see `ledger/postgres/durability.py`."""

DURABILITIES: tuple[Durability, ...] = get_args(Durability)


class Host(NamedTuple):
    """A server of a database: its name or address, IPv6 without brackets, and its port."""

    name: str
    port: int = PORT

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return name if self.port == PORT else f"{name}:{self.port}"


class DatabasePlace(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger in a database of PostgreSQL. `str` gives its address."""

    hosts: tuple[Host, ...]
    """The servers of one cluster, at least one; any of them may be the primary one."""
    database: str
    ledger: str
    """The name of the ledger: see LEDGER_NAME."""
    user: str | None = None
    """The role; None: the one that PGUSER names, or that of the operating system's user."""
    sslmode: str | None = None
    """One of SSL_MODES; None: what PGSSLMODE names, or else `prefer`."""
    sslrootcert: str | None = None
    sslcert: str | None = None
    sslkey: str | None = None

    def __str__(self) -> str:
        user = f"{quote(self.user, safe='')}@" if self.user is not None else ""
        hosts = ",".join(map(str, self.hosts))
        address = f"postgresql://{user}{hosts}/{quote(self.database, safe='')}?ledger={self.ledger}"
        given = [(name, value) for name in SSL_PARAMETERS if (value := getattr(self, name)) is not None]
        return address + "".join(f"&{name}={quote(value, safe='/')}" for name, value in given)

    @property
    def folder_name(self) -> str:
        """The name of a folder for files about the ledgers of this database, other than that of each other database."""
        hosts = sorted(f"{host.name.lower()}:{host.port}" for host in self.hosts)
        digest = sha256("\n".join([*hosts, self.database]).encode()).hexdigest()
        readable = f"{min(host.name.lower() for host in self.hosts)}-{self.database}"
        return f"{re.sub('[^A-Za-z0-9_.-]', '_', readable)[:80]}-{digest[:12]}"


class Place(msgspec.Struct, frozen=True):
    """Where a ledger is. `str` gives the place as it is typed, without the folder of `--state`."""

    path: Path
    """The ledger file; for a database STATE/NAME: other files of the ledger are beside it and begin with its name."""
    database: DatabasePlace | None = None
    """None for a file."""
    durability: Durability = "quorum"
    """What was promised about a confirmed commit in a database; of no meaning for a file."""
    key: Path | None = None
    """The file of the signing key, if it is not beside the ledger's other files."""

    @classmethod
    def parse(
        cls, text: str, state: Path | None = None, durability: Durability = "quorum", *, option: str = "ledger"
    ) -> Self:
        """Parse a place. `state` is the folder of the files that a node keeps of a ledger in a database.

        Errors: InvalidQuery, naming the option. They contain no password.
        """
        match = _SCHEME.fullmatch(text)
        if match is None:
            return cls(Path(text))
        if match[1].lower() not in SCHEMES:
            raise _scheme_error(match[1], option)
        database = _Parser(option).parse(match[2])
        folder = default_state() / database.folder_name if state is None else state
        return cls(folder / database.ledger, database, durability)

    @classmethod
    def of(cls, place: "Place | Path") -> "Place":
        """Return a place, for a place or the path of a file."""
        return place if isinstance(place, Place) else cls(place)

    def __str__(self) -> str:
        return str(self.path if self.database is None else self.database)

    def follow_link(self) -> "Place":
        """Return the place of the file itself, if the path of a file is a symbolic link."""
        return self if self.database is not None else structs.replace(self, path=follow_typed_link(self.path))

    def may_exist(self) -> bool:
        """Return whether there is a file. Whether there is a ledger in a database, only opening it shows: True."""
        return self.database is not None or self.path.exists()

    def require_file(self, command: str, instead: str) -> Path:
        """Return the path of a ledger file, for a command that works on nothing else. Errors: InvalidQuery.

        `instead` says what to do with a ledger in a database.
        """
        if self.database is not None:
            detail = f"{command} works on a ledger file, and {self} is a ledger in PostgreSQL."
            raise InvalidQuery("ledger", detail, instead)
        return self.path

    def require_database(self, command: str, instead: str) -> DatabasePlace:
        """Return the place of a database, for a command that works on nothing else. Errors: InvalidQuery.

        `instead` says what to do with a ledger file.
        """
        if self.database is None:
            detail = f"{command} works on a ledger in PostgreSQL, and {self} is a file."
            raise InvalidQuery("ledger", detail, instead)
        return self.database

    def make_folder(self) -> None:
        """Make the folder of the files of a ledger in a database, for this user alone. Errors: LedgerUnusable."""
        if self.database is None:
            return
        try:
            self.path.parent.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            detail = f"The folder {self.path.parent} cannot be made: {error.strerror or error}."
            raise LedgerUnusable(detail, "Name another one with --state.") from error


def parse_durability(text: str | None, option: str) -> Durability:
    """Parse what is promised about a confirmed commit; nothing is `quorum`. Errors: InvalidQuery, naming the option."""
    for durability in DURABILITIES:
        if durability == (text or DURABILITIES[0]):
            return durability
    raise InvalidQuery(option, f"{text!r} is not one of the choices.", f"Choose one of {', '.join(DURABILITIES)}.")


def default_state() -> Path:
    """Return the folder below which files about ledgers in databases are, if none is named. Errors: InvalidQuery.

    Source: the XDG Base Directory Specification, which ignores a relative XDG_STATE_HOME.
    """
    named = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        return (named if named.is_absolute() else Path.home() / ".local" / "state") / "tallystick"
    except RuntimeError:
        raise InvalidQuery("state", "this user has no home folder.", "Name a folder with --state.") from None


class _Parser:
    """Parses the address of a database, and names the option in its errors."""

    def __init__(self, option: str) -> None:
        self._option = option

    def parse(self, address: str) -> DatabasePlace:
        """Parse what follows `postgresql://`."""
        if _PASSWORD.match(_FILE_PARAMETER.sub(r"\1", address)):
            raise self._error("the address contains a password, which others may see.", PASSWORD_ADVICE)
        before_query, _, query = address.partition("?")
        authority, slash, database = before_query.partition("/")
        user, at, hosts = authority.rpartition("@")
        if ":" in user:
            raise self._error("the address contains a password, which others may see.", PASSWORD_ADVICE)
        parameters = self._parameters(query)
        if not slash or not database:
            raise self._error("the address names no database.", f"Its form is {FORM}.")
        return DatabasePlace(
            hosts=tuple(map(self._host, hosts.split(","))),
            database=self._decode("database", database),
            user=self._decode("user", user) if at else None,
            ledger=self._ledger_name(parameters.pop("ledger", None)),
            sslmode=self._ssl_mode(parameters.pop("sslmode", None)),
            **{name: self._decode(name, value) for name, value in parameters.items()},
        )

    def _parameters(self, query: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in query.split("&") if query else ():
            name, _, value = part.partition("=")
            if name in {"password", "sslpassword"}:
                raise self._error(f"the address contains a password, in {name}.", PASSWORD_ADVICE)
            if name not in PARAMETERS:
                near = get_close_matches(name, PARAMETERS, n=1, cutoff=_NEAR)
                known = f"Its parameters are {', '.join(PARAMETERS)}."
                shown = name if re.fullmatch(r"[A-Za-z_]{1,40}", name) else "a part of the address after the ?"
                advice = f"Did you mean {near[0]}? {known}" if near else known
                raise self._error(f"{shown} is not a parameter of the address.", advice)
            if name in found:
                raise self._error(f"the address names {name} twice.", "Name it once.")
            found[name] = value
        return found

    def _host(self, text: str) -> Host:
        match = _HOST_AND_PORT.fullmatch(text)
        name, port = (match[1], match[2]) if match is not None else ("", None)
        if name.startswith("["):
            name = name[1:-1]
            valid = _is_ipv6(name)
        else:
            valid = _HOST.fullmatch(name) is not None
        if not valid:
            advice = f"Its form is {FORM}; several hosts are separated by commas."
            raise self._error("the address names no host, or one that is not valid.", advice)
        if port is None:
            return Host(name)
        if not (port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= PORT_MAX):
            raise self._error(f"the port of {name} is not valid.", f"Choose one of 1..{PORT_MAX}.")
        return Host(name, int(port))

    def _ledger_name(self, name: str | None) -> str:
        if name is None:
            raise self._error("the address names no ledger: the parameter ledger is missing.", f"Its form is {FORM}.")
        if LEDGER_NAME.fullmatch(name) is None:
            advice = "Use 1..40 lower-case letters, digits and _; the first is a letter."
            raise self._error("the name of the ledger is not valid.", advice)
        return name

    def _ssl_mode(self, mode: str | None) -> str | None:
        if mode is None or mode in SSL_MODES:
            return mode
        near = get_close_matches(mode, SSL_MODES, n=1, cutoff=_NEAR)
        advice = f"Choose one of {', '.join(SSL_MODES)}."
        raise self._error("sslmode is not valid.", f"Did you mean {near[0]}? {advice}" if near else advice)

    def _decode(self, name: str, value: str) -> str:
        """Return the text of a percent-encoded value."""
        try:
            text = unquote(value, errors="strict")
        except UnicodeDecodeError:
            text = ""
        if not text or not text.isprintable():
            raise self._error(f"{name} is empty, or has characters that are not valid.", f"The form is {FORM}.")
        return text

    def _error(self, detail: str, advice: str) -> InvalidQuery:
        return InvalidQuery(self._option, detail, advice)


def _is_ipv6(text: str) -> bool:
    try:
        return IPv6Address(text).scope_id is None
    except ValueError:
        return False


def _scheme_error(scheme: str, option: str) -> InvalidQuery:
    if scheme.lower() in {"http", "https"}:
        advice = "Name a server with --url."
    elif get_close_matches(scheme.lower(), SCHEMES, n=1, cutoff=_NEAR):
        advice = "Did you mean postgresql://?"
    else:
        advice = f"Name a file, or a database: {FORM}."
    return InvalidQuery(option, f"{scheme}:// is not the address of a ledger.", advice)
