"""What an operator registered in a file: commands, addresses and webhooks. No decision, and no agent, names another."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from instruments.errors import SourceUnreadable

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]
"""A webhook is recorded as the agent of its name."""
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3_600)]

EXAMPLE = """\
[commands.smoke]
run = ["./smoke.sh", "--fast"]

[addresses.home]
url = "https://example.com/"

[webhooks.shop]
forge = "github"
secret_file = "shop.secret"
project = "acme/shop"
repository = "0123456789abcdef"
"""

ForgeKind = Literal["github", "gitlab"]
SECRET_CHARS_MIN = 16


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


class RegisteredWebhook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A forge that sends webhooks, the file of the secret that it knows, and the name and id of the repository."""

    forge: ForgeKind
    secret_file: str
    """From the folder of the file."""
    project: str
    """The name of the repository at the forge: `OWNER/NAME`."""
    repository: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    """As `tallystick changes` shows it."""

    def secret(self, folder: Path) -> bytes:
        """Return the secret. Errors: SourceUnreadable."""
        file = folder / self.secret_file
        try:
            secret = file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise SourceUnreadable(f"{file} cannot be read: {error}.", "Write the secret of the webhook.") from None
        if len(secret) < SECRET_CHARS_MIN:
            detail = f"{file}: a secret has at least {SECRET_CHARS_MIN} characters."
            raise SourceUnreadable(detail, "Make one: openssl rand -hex 32")
        return secret.encode()


class Registered(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is registered, by name."""

    commands: dict[Name, RegisteredCommand] = {}
    addresses: dict[Name, RegisteredAddress] = {}
    webhooks: dict[Name, RegisteredWebhook] = {}


def read_registered(file: Path) -> Registered:
    """Read a file. Errors: SourceUnreadable, which names the place."""
    try:
        data: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        return msgspec.convert(data, Registered)
    except OSError as error:
        raise SourceUnreadable(f"{file} cannot be read: {error.strerror}.", f"Write one, such as:\n{EXAMPLE}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SourceUnreadable(f"{file}: {error}.", f"Write it as:\n{EXAMPLE}") from None
