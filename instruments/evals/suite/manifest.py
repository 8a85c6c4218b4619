"""The manifest of a suite version: a JSON object from the path of each file to the SHA-256 digest of its bytes.

A path is `TITLE/FILE`: the title of a scenario, and one of the files that the loader reads. A manifest comes from a
ledger that others can write. So it is checked completely before any of its paths is used.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

import msgspec

from events.payload import DIGEST_PATTERN
from instruments.errors import BadFixtures, FixtureFault
from instruments.evals.scenario import Scenario
from instruments.evals.suite.loader import DEPTH_MAX, INVESTIGATION_FILE, SCENARIO_FILES

MANIFEST = "the list of its files"
"""What messages call a manifest."""

NAME_BYTES_MAX = 255
"""Bytes of the name of a folder, in UTF-8: as on most file systems."""

FILE_NAMES = frozenset({*SCENARIO_FILES, INVESTIGATION_FILE})
"""The names of files in a suite."""

_digest = re.compile(DIGEST_PATTERN)
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(dict[str, str]).decode


def list_files(scenarios: Iterable[Scenario]) -> dict[str, str]:
    """Return the digest of each file of some scenarios, by path, sorted."""
    files = {f"{scenario.title}/{file.name}": file.digest for scenario in scenarios for file in scenario.files}
    return dict(sorted(files.items()))


def encode_manifest(files: Mapping[str, str]) -> bytes:
    """Return the manifest of some files, by path. The same files give the same bytes. Errors: BadFixtures."""
    _check(files)
    return _encode(files)


def decode_manifest(data: bytes) -> dict[str, str]:
    """Return the digest of each file in a manifest, by path, sorted. Errors: BadFixtures, with all faults."""
    try:
        files = _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        fault = FixtureFault(
            MANIFEST, None, "is not a JSON object of paths and digests", "The ledger names other data."
        )
        raise BadFixtures([fault], "Nothing was written.") from None
    _check(files)
    return dict(sorted(files.items()))


def _check(files: Mapping[str, str]) -> None:
    faults = [
        FixtureFault(MANIFEST, repr(path), problem, "Rename the folder, or do not use this list.")
        for path, digest in files.items()
        if (problem := _problem_of(path, digest, files)) is not None
    ]
    if not files:
        faults.append(FixtureFault(MANIFEST, None, "is empty", "The ledger names other data."))
    if faults:
        raise BadFixtures(faults, "Nothing was written.")


def _problem_of(path: str, digest: str, files: Mapping[str, str]) -> str | None:
    *folders, name = path.split("/")
    if not 1 <= len(folders) <= DEPTH_MAX or name not in FILE_NAMES:
        return "is not the path of a scenario's file"
    if any(folder in {"", ".", ".."} or "\0" in folder for folder in folders):
        return "leaves the folder of the suite"
    try:
        if any(len(folder.encode()) > NAME_BYTES_MAX for folder in folders):
            return "has too long a name"
    except UnicodeEncodeError:
        return "has a name that is not UTF-8"
    if any(str(parent) in files for parent in PurePosixPath(path).parents):
        return "is below another file"
    return None if _digest.fullmatch(digest) else "has no SHA-256 digest"
