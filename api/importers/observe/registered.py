"""The commands and addresses that an operator registered, in a file. No decision, and no agent, names another one."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec

from events.payload import STREAM_ID_PATTERN
from instruments.errors import SourceUnreadable

Name = Annotated[str, msgspec.Meta(pattern=STREAM_ID_PATTERN, max_length=64)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3_600)]

EXAMPLE = """\
[commands.smoke]
run = ["./smoke.sh", "--fast"]

[addresses.home]
url = "https://example.com/"
"""


class RegisteredCommand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command: its words, which no shell reads, where it runs, and for how long at most."""

    run: Annotated[list[str], msgspec.Meta(min_length=1)]
    folder: str = "."
    """From the folder of the file."""
    timeout_s: Seconds = 600.0


class RegisteredAddress(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An address that is asked; whether it may be of a private network, and how long an answer may take."""

    url: Annotated[str, msgspec.Meta(pattern=r"^https?://[^\s/@]+(/\S*)?$")]
    allow_private: bool = False
    timeout_s: Seconds = 10.0


class Registered(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is registered, by name."""

    commands: dict[Name, RegisteredCommand] = {}
    addresses: dict[Name, RegisteredAddress] = {}


def read_registered(file: Path) -> Registered:
    """Read a file. Errors: SourceUnreadable, which names the place."""
    try:
        data: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        return msgspec.convert(data, Registered)
    except OSError as error:
        raise SourceUnreadable(f"{file} cannot be read: {error.strerror}.", f"Write one, such as:\n{EXAMPLE}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SourceUnreadable(f"{file}: {error}.", f"Write it as:\n{EXAMPLE}") from None
