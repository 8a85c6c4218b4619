"""Read the firing alerts of an Alertmanager over its v2 API, and select one of them.

Silenced and inhibited alerts are left out unless they are asked for: they notify no one. URLs in an alert lose their
credentials. Redirects are not followed, so that the password reaches no other host. Proxies come from HTTP_PROXY,
HTTPS_PROXY, ALL_PROXY and NO_PROXY.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import get_close_matches

import httpx
import msgspec

from events.decode_error_messages import DECODE_ERRORS, locate_decode_error
from events.errors import InvalidQuery
from events.limits import BODY_BYTES_MAX
from instruments.evals.capture.url_credentials import clean_link, redact_urls_within
from instruments.routers.http_endpoint import HttpEndpoint, parse_address
from instruments.routers.redaction import Redactor
from instruments.routers.router import shorten

EXCERPT_BYTES = 1_000
"""Bytes of an unexpected reply that are read for an error's text."""

SHOWN_MAX = 5
"""The most alerts that an error names."""

EXAMPLE = "Write http://127.0.0.1:9093, or with a path where it is served below one."

_API = "/api/v2"
_ALERTS = f"{_API}/alerts"
_ACTIVE = {"active": "true", "silenced": "false", "inhibited": "false", "unprocessed": "true"}
_ALL = dict.fromkeys(_ACTIVE, "true")


class FiringAlert(msgspec.Struct, frozen=True, kw_only=True):
    """An alert, in the form that an investigation contains."""

    fingerprint: str
    """A digest of the labels, 16 hex digits."""
    labels: dict[str, str]
    annotations: dict[str, str]
    starts_at: str
    """RFC 3339."""
    ends_at: str | None
    """The time from which it is resolved, unless it is renewed."""
    generator_url: str | None
    """The page of its rule, without user and password."""
    state: str
    """`active`, or `unprocessed`."""

    @property
    def name(self) -> str:
        return self.labels.get("alertname", "")

    def without_credentials(self) -> "FiringAlert":
        """Return the alert with URLs that contain no credentials."""
        return msgspec.structs.replace(
            self,
            labels=redact_urls_within(self.labels),
            annotations=redact_urls_within(self.annotations),
            generator_url=clean_link(self.generator_url) if self.generator_url else None,
        )


class _Status(msgspec.Struct):
    state: str


class _ApiAlert(msgspec.Struct):
    """An alert in the API's form."""

    labels: dict[str, str]
    fingerprint: str
    startsAt: str  # noqa: N815 - the API's word
    status: _Status
    annotations: dict[str, str] = {}
    endsAt: str | None = None  # noqa: N815 - the API's word
    generatorURL: str | None = None  # noqa: N815 - the API's word


_decode = msgspec.json.Decoder(list[_ApiAlert]).decode


class Alertmanager:
    """A client of one Alertmanager. Its texts never contain user, password or query of the address.

    Errors: InvalidQuery, if the address is not valid.
    """

    def __init__(self, address: str) -> None:
        url = parse_address(address.strip())
        if url is None:
            raise InvalidQuery("alertmanager", "is not the address of a server.", EXAMPLE, written=False)
        base_path = url.path.rstrip("/").removesuffix(_ALERTS).removesuffix(_API)
        self._endpoint = HttpEndpoint(url.copy_with(path=base_path or "/"), _ALERTS, None)
        self.name = self._endpoint.name
        self._secrets = Redactor(self._endpoint.secrets)

    async def alerts(self, timeout_s: float, *, muted: bool = False) -> list[FiringAlert]:
        """Return the firing alerts, ordered by start time, then fingerprint. Errors: InvalidQuery.

        `muted`: also those that are silenced or inhibited.
        """
        url = self._endpoint.url.copy_merge_params(_ALL if muted else _ACTIVE)
        try:
            async with (
                asyncio.timeout(timeout_s),
                httpx.AsyncClient(
                    headers=self._endpoint.headers, verify=self._endpoint.tls, timeout=timeout_s
                ) as client,
                client.stream("GET", url) as response,
            ):
                body = await self._body(response)
        except (TimeoutError, httpx.TimeoutException):
            raise self._bad(
                f"gave no whole answer within {timeout_s:g} s.", "Ask again, or give it more --timeout."
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = self._secrets.hide(str(error)) or type(error).__name__
            raise self._bad(f"gave no answer: {shorten(reason)}.", "Is it running, and reachable from here?") from None
        except (ImportError, ValueError):
            raise self._bad(
                "cannot be asked: the proxy of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used."
            ) from None
        if response.status_code != 200:
            raise self._refused(response, body)
        return sorted(
            map(_to_alert, self._read(body)), key=lambda alert: (_parse_time(alert.starts_at), alert.fingerprint)
        )

    async def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > BODY_BYTES_MAX:
                raise self._bad(f"answered with more than {BODY_BYTES_MAX:,} bytes.", "Is it an Alertmanager?")
        return bytes(body)

    def _read(self, body: bytes) -> list[_ApiAlert]:
        """Errors: InvalidQuery."""
        try:
            return _decode(body)
        except msgspec.ValidationError as error:
            path, problem = locate_decode_error(error)
            detail = f"answered with no list of alerts ({path or 'the whole'}: {problem})."
            raise self._bad(detail, "Is it an Alertmanager, with its v2 API?") from None
        except DECODE_ERRORS:
            excerpt = shorten(self._secrets.hide(body[:EXCERPT_BYTES].decode("utf-8", "replace")))
            seen = f": {excerpt}" if excerpt else ", but with nothing"
            raise self._bad(f"answered with no JSON{seen}", "Is it an Alertmanager, or something before it?") from None

    def _refused(self, response: httpx.Response, body: bytes) -> InvalidQuery:
        status = response.status_code
        message = shorten(self._secrets.hide(_error_text(body)))
        if response.is_redirect:
            target = self._secrets.hide(response.headers.get("location", ""))
            return self._bad(
                f"redirects ({status}) to {shorten(target)}, which is not followed.", "Name the address itself."
            )
        advice = {
            401: "Put user and password into the address: http://USER:PASSWORD@HOST:9093.",
            403: "Ask with a user who may read alerts.",
            404: f"Is it an Alertmanager of 0.16 or newer? {EXAMPLE}",
        }.get(status, "Look into its log.")
        return self._bad(f"answered {status}{f': {message}' if message else ''}.", advice)

    def _bad(self, detail: str, advice: str = "") -> InvalidQuery:
        return InvalidQuery("alertmanager", f"{self.name} {detail}", advice, written=False)


def select_by_index(alerts: Sequence[FiringAlert], index: int) -> FiringAlert:
    """Return the alert at a 0-based index. Errors: InvalidQuery."""
    if not 0 <= index < len(alerts):
        firing = "1 alert is" if len(alerts) == 1 else f"{len(alerts):,} alerts are"
        indexes = "0" if len(alerts) == 1 else f"0 to {len(alerts) - 1}"
        detail = f"there is no alert {index}: {firing} firing, and the first is 0."
        raise InvalidQuery("alert_index", detail, f"Choose {indexes}; --list shows them.", written=False)
    return alerts[index]


def select_by_fingerprint(alerts: Sequence[FiringAlert], fingerprint: str) -> FiringAlert:
    """Return the alert with a fingerprint, or with a unique prefix of it. Errors: InvalidQuery."""
    prefix = fingerprint.strip().lower()
    matches = [alert for alert in alerts if prefix and alert.fingerprint.lower().startswith(prefix)]
    exact = [alert for alert in matches if alert.fingerprint.lower() == prefix]
    if len(exact or matches) == 1:
        return (exact or matches)[0]
    if matches:
        detail = f"{len(matches)} alerts begin with {fingerprint!r}: {_summary(matches)}."
        raise InvalidQuery("fingerprint", detail, "Give more of its digits.", written=False)
    fingerprints = [alert.fingerprint for alert in alerts]
    similar = get_close_matches(prefix, fingerprints, n=1, cutoff=0.5)
    suggestions = [alert for alert in alerts if alert.fingerprint in similar]
    advice = f"Did you mean {_summary(suggestions)}?" if suggestions else f"Firing: {_summary(alerts)}."
    detail = f"no alert that is firing has {shorten(fingerprint)!r}; what is silenced or inhibited is left out."
    raise InvalidQuery("fingerprint", detail, f"{advice} --list shows them all.", written=False)


def _summary(alerts: Sequence[FiringAlert]) -> str:
    shown = ", ".join(f"{alert.fingerprint} ({shorten(alert.name) or 'no name'})" for alert in alerts[:SHOWN_MAX])
    return f"{shown} and {len(alerts) - SHOWN_MAX:,} more" if len(alerts) > SHOWN_MAX else shown


def _to_alert(alert: _ApiAlert) -> FiringAlert:
    return FiringAlert(
        fingerprint=alert.fingerprint,
        labels=alert.labels,
        annotations=alert.annotations,
        starts_at=alert.startsAt,
        ends_at=alert.endsAt or None,
        generator_url=alert.generatorURL,
        state=alert.status.state,
    ).without_credentials()


def _parse_time(text: str) -> datetime:
    """Parse a time for ordering; an invalid one comes last."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _error_text(body: bytes) -> str:
    """Return an error's text: a JSON string from the API, anything from a proxy in front of it."""
    try:
        value = msgspec.json.decode(body)
    except DECODE_ERRORS:
        value = None
    return value if isinstance(value, str) else body[:EXCERPT_BYTES].decode("utf-8", "replace")
