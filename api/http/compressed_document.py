"""A document that does not change while the server runs: encoded, compressed and named by its digest once."""

import re
from gzip import compress
from hashlib import sha256
from typing import NamedTuple

_gzip = re.compile(r"(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q=(?:0\.\d*[1-9]\d*|1(?:\.0*)?)\s*)?(?:,|$)", re.IGNORECASE)


class CompressedDocument(NamedTuple):
    """The bytes of a document, the same compressed with gzip, and its entity tag."""

    body: bytes
    gzipped: bytes
    etag: str


def compress_document(body: bytes) -> CompressedDocument:
    """Return a document with its compressed form. The tag is weak, because it names both forms."""
    return CompressedDocument(body, compress(body, mtime=0), f'W/"{sha256(body).hexdigest()[:32]}"')


def accepts_gzip(header: str) -> bool:
    """Return whether Accept-Encoding allows gzip."""
    return _gzip.search(header) is not None


def etag_matches(header: str, etag: str) -> bool:
    """Return whether If-None-Match names an entity tag."""
    tags = (tag.strip().removeprefix("W/") for tag in header.split(","))
    return etag.removeprefix("W/") in tags or header.strip() == "*"
