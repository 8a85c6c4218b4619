"""Seals of small files beside a ledger: an HMAC-SHA256 with the secret of the ledger's owner, in `FILE.seal`.

A file without a seal is accepted: an earlier version wrote it, or it was put there on purpose. All functions block.
"""

import hmac
from contextlib import suppress
from pathlib import Path

from ledger.atomic_file import replace_whole, write_whole
from ledger.private_file import FILE_MODE
from ledger.view_key import read_view_key


def replace_sealed(ledger: Path, path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Write a file whole, and seal it. Errors: OSError.

    Until the file is written, the seal fits the old bytes too, so that a crash leaves a file with a right seal.
    """
    secret = read_view_key(ledger, make=True)
    if secret is None:
        seal_path(path).unlink(missing_ok=True)
        replace_whole(path, data, mode=mode)
        return
    new = _digest(secret, path, data)
    with suppress(FileNotFoundError):
        write_whole(seal_path(path), _digest(secret, path, path.read_bytes()) + new, mode=FILE_MODE)
    replace_whole(path, data, mode=mode)
    replace_whole(seal_path(path), new, mode=FILE_MODE)


def find_alteration(ledger: Path, path: Path, data: bytes) -> str | None:
    """Return why the bytes of a file are not those that were sealed; None if they are, or if it has no seal."""
    try:
        seal = seal_path(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{seal_path(path)} cannot be read: {error.strerror}."
    secret = read_view_key(ledger, make=False)
    digest = b"" if secret is None else _digest(secret, path, data)
    sealed = (seal[at : at + len(digest)] for at in range(0, len(seal), len(digest) or 1))
    if digest and any(hmac.compare_digest(digest, one) for one in sealed):
        return None
    return f"{path} was changed by another program, or {seal_path(path).name} is not its seal."


def seal_advice(path: Path) -> str:
    """Return what to do about an altered file."""
    return f"If you made the change yourself, remove {seal_path(path)}; otherwise restore the file."


def seal_path(path: Path) -> Path:
    """Return the path of the seal of a file."""
    return path.with_name(path.name + ".seal")


def _digest(secret: bytes, path: Path, data: bytes) -> bytes:
    ending = path.name.rpartition(".")[2]
    return hmac.digest(secret, f"tallystick {ending}\n".encode() + data, "sha256")
