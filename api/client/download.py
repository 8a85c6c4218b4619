"""Download an export from a server into a ZIP file."""

import os
from collections.abc import Mapping
from io import BufferedWriter
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import httpx

from api.client.server_connection import connect, not_tallystick
from api.export.manifest import MANIFEST, MANIFEST_BYTES_MAX, Manifest, decode_manifest
from api.export.output_path import is_archive, temporary_output
from api.progress import ReportProgress
from events.decode_error_messages import DECODE_ERRORS
from ledger.errors import InvalidQuery, LedgerUnavailable
from ledger.private_file import open_new_private


async def download_export(
    url: str, token: str | None, parameters: Mapping[str, str], output: Path, report: ReportProgress
) -> Manifest:
    """Download an export into a ZIP file; return its manifest. If the download breaks off, no file is left.

    Errors: those that the server answers; LedgerUnavailable, if it breaks off; those of `temporary_output`.
    """
    if not is_archive(output):
        raise InvalidQuery("output", "a server exports only as a ZIP.", "Name a file that ends in .zip.")
    with temporary_output(output) as part:
        try:
            async with connect(url, token) as server, server.stream("/export", dict(parameters), "*/*") as response:
                await _receive(response, part, report)
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            detail = f"{url} cannot be reached, or broke off: {reason}; no part of the export was kept."
            raise LedgerUnavailable(detail, "Is the server running there? Run it again.") from error
        return _manifest(part, url)


async def _receive(response: httpx.Response, part: Path, report: ReportProgress) -> None:
    received_bytes = 0
    with BufferedWriter(open_new_private(part)) as file:
        async for piece in response.aiter_raw():
            file.write(piece)
            received_bytes += len(piece)
            report(received_bytes, received_bytes)
        file.flush()
        os.fsync(file.fileno())


def _manifest(part: Path, url: str) -> Manifest:
    """Read the manifest of the download. Errors: UnexpectedAnswer, if it is not an export."""
    try:
        with ZipFile(part) as archive, archive.open(MANIFEST) as file:
            return decode_manifest(file.read(MANIFEST_BYTES_MAX + 1))
    except (BadZipFile, KeyError, *DECODE_ERRORS):
        raise not_tallystick(f"{url}/export", 200) from None
