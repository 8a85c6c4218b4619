"""An export that a server makes, streamed into its place."""

import os
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import httpx

from api.client.remote import client_of, error_of
from api.export.manifest import MANIFEST, Manifest, decode
from api.export.output_path import Report, is_archive, placing
from events.decode_errors import UNDECODABLE
from ledger.errors import InvalidQuery, LedgerUnavailable


async def fetch(url: str, token: str | None, parameters: Mapping[str, str], output: Path, report: Report) -> Manifest:
    """Have a server export into a ZIP file; what it holds. Nothing is there where it breaks off.

    Errors: the server's own, as if raised here; LedgerUnavailable, where it breaks off; those of `placing`.
    """
    if not is_archive(output):
        raise InvalidQuery("output", "a server answers with a ZIP.", "Name a file that ends in .zip.")
    with placing(output) as part:
        try:
            async with client_of(url, token) as client, client.stream("GET", "/export", params=parameters) as response:
                if response.status_code != 200:
                    await response.aread()
                    raise error_of(response)
                await _receive(response, part, report)
        except httpx.TransportError as error:
            said = str(error) or type(error).__name__
            detail = f"{url} cannot be reached, or broke off: {said}; nothing is left of the export."
            raise LedgerUnavailable(detail, "Is the server running there? Run it again.") from error
        return _manifest(part, url)


async def _receive(response: httpx.Response, part: Path, report: Report) -> None:
    done = 0
    with part.open("xb") as file:
        async for piece in response.aiter_bytes():
            file.write(piece)
            done += len(piece)
            report(done, done)
        file.flush()
        os.fsync(file.fileno())


def _manifest(part: Path, url: str) -> Manifest:
    """What came, by its manifest. Errors: InvalidQuery, for what is no export."""
    try:
        with ZipFile(part) as archive:
            return decode(archive.read(MANIFEST))
    except (BadZipFile, KeyError, *UNDECODABLE):
        raise InvalidQuery("url", f"{url} answered, but not as Tallystick does.", "Check the address.") from None
