"""Turn an answer into what the golden file keeps: the answer without what differs in every recording."""

import io
import re
import zipfile
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from typing import Any

import httpx
import msgspec

from tests.recorded.request import Request
from tests.recorded.texts import without_texts

USUAL = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
"""Headers that the golden file leaves out where they have these values. It says `null` where one is missing."""

VARYING = frozenset({"date", "content-length"})
"""Headers that are not compared. The length changes with a text for people; the HTTP client checks it."""

BYTES_MAX = 2_000
"""The golden file keeps a binary body up to this size as base64, and of a longer one the size and the SHA-256."""

OR_CODES = ("error", "reason")
"""Keys that have a text or a code in answers of CSTP, of a live run and of `/readyz`."""

SHOWN_CHARS = 160
"""Characters of an address or a request's body that the golden file shows."""

_varying = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r'("(?:queryTimeMs|durationMs)":)\d+'), r'\1"<ms>"'),
    (re.compile(r'("folded":)\d+(?=[,}])'), r'\1"<position>"'),
    (re.compile(r'("checkId":)"[0-9a-f]{8}"'), r'\1"<check id>"'),
    (re.compile(r'("request_id":)"[0-9a-f]+-[0-9a-f]+"'), r'\1"<request id>"'),
    (re.compile(r'("version":)"\d+\.\d+\.\d+[^"]*"'), r'\1"<version>"'),
    (re.compile(r"http://127\.0\.0\.1:\d{4,5}(?=\")"), "<url>"),
)
_metric = re.compile(r"^# TYPE (\S+) (\S+)$", re.MULTILINE)


class RecordedAnswer(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One request of a scene and its answer. The body is in one of `json`, `text`, `data` and `files`."""

    scene: str
    step: int
    """1-based number of the request in its scene."""
    request: str
    """Method and address."""
    sent: str = ""
    """The beginning of the request's body, for people who read the file."""
    status: int
    headers: dict[str, str | None] = {}
    """Headers that differ from the usual ones."""
    json: msgspec.Raw | None = None
    text: str = ""
    data: str = ""
    """Bytes as base64; or `sha256:`, the digest and the size."""
    files: dict[str, str] = {}
    """The files of a ZIP, each with its digest and size."""


def recorded_answer(
    scene: str, step: int, request: Request, response: httpx.Response, ids: Mapping[str, str], sent: Collection[str]
) -> RecordedAnswer:
    """Return the record of an answer.

    Args:
        scene: the name of the scene.
        step: the number of the request in it.
        request: the request as the scene lists it.
        response: what the server answered.
        ids: the ids that the server has made so far, each under the name that replaces it.
        sent: every text that the requests of the scene have stated so far.
    """

    def plain(text: str) -> str:
        for name, found in ids.items():
            text = text.replace(found, f"{{{{{name}}}}}")
        for pattern, instead in _varying:
            text = pattern.sub(instead, text)
        return text

    body = response.content
    return RecordedAnswer(
        scene=scene,
        step=step,
        request=f"{request.method} {_cut(request.target)}",
        sent="" if request.body is None else _cut(request.body[:1_000].decode("utf-8", "replace")),
        status=response.status_code,
        headers={name: value and plain(value) for name, value in _headers(request, response).items()},
        **_body(request, body, response.headers.get("content-type", ""), plain, sent) if body else {},
    )


def _body(
    request: Request, body: bytes, media_type: str, plain: Callable[[str], str], sent: Collection[str]
) -> dict[str, Any]:
    """Return a body under the field that fits its type."""
    media = media_type.partition(";")[0]
    if media == "application/zip":
        return {"files": _files(body)}
    if request.target == "/metrics":
        return {"text": "\n".join(sorted(f"{name} {kind}" for name, kind in _metric.findall(body.decode())))}
    if media.startswith("text/") or media == "application/x-ndjson":
        return {"text": plain(body.decode())}
    if media.endswith("json"):
        or_codes = OR_CODES if request.target.startswith(("/cstp", "/discovery", "/readyz")) else ()
        return {"json": msgspec.Raw(without_texts(plain(body.decode()), sent, or_codes).encode())}
    return {"data": _summary(body) if len(body) > BYTES_MAX else b64encode(body).decode()}


def _headers(request: Request, response: httpx.Response) -> dict[str, str | None]:
    """Return the headers that differ from the usual ones."""
    given: dict[str, str | None] = {
        name: value for name, value in sorted(response.headers.items()) if name not in VARYING
    }
    request_id = given.pop("x-request-id", None)
    if not (request.named and request_id == request_id_of(request)):
        given["x-request-id"] = request_id and "<request id>"
    if response.status_code == 429:
        assert str(given["retry-after"]).isdecimal(), given
        given["retry-after"] = "<seconds>"
    usual = {name: value for name, value in USUAL.items() if request.method == "GET" or name != "cache-control"}
    missing = {name: None for name in usual if name not in given}
    return {name: value for name, value in given.items() if value != usual.get(name)} | missing


def request_id_of(request: Request) -> str:
    """Return the `x-request-id` to send with a request."""
    return sha256(f"{request.method} {request.target}".encode()).hexdigest()[:12]


def _files(archive: bytes) -> dict[str, str]:
    """Return the files of an export in their order. Its README is a text, and its manifest has the README's digest."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert opened.testzip() is None
        return {
            name: "" if name in {"README.md", "manifest.json"} else _summary(opened.read(name))
            for name in opened.namelist()
        }


def _summary(body: bytes) -> str:
    return f"sha256:{sha256(body).hexdigest()} {len(body)} bytes"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
