"""Observe registered commands and addresses, and files of test results; and record what was observed.

What goes wrong with an observation itself, such as a command that cannot start, is an error and no result.
"""

import asyncio
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from xml.etree import ElementTree as ET

import msgspec

from api.importers.adopt.observations import Facts, SubjectObserved, observation
from api.importers.batch_append import append_all
from api.importers.observe.alerts import ALERTMANAGER, firing_facts
from api.importers.observe.registered import RegisteredAddress, RegisteredCommand
from api.service.store import EventStore
from api.service.webhooks.attempt import NO_ANSWER, ask_checked, describe_failure
from events.limits import ITEMS_MAX
from instruments.errors import SourceUnreadable
from instruments.evals.capture.alertmanager import Alertmanager
from ledger.errors import InvalidQuery
from projections.changes.recorded_requests import check_digest
from projections.resolve.subject_rules import POLLED, RAN, SAMPLED, TESTED

RESULT_BYTES_MAX: Final = 64 << 20
"""A file of test results may be so large."""

ANSWER_S: Final = 10.0
"""Seconds that an Alertmanager has for its answer."""

_KINDS: Final = {RAN: "command", SAMPLED: "http", TESTED: "junit", POLLED: ALERTMANAGER}
_Item = TypeVar("_Item")


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed of a subject."""

    subject: str
    """What it was: `command:NAME`, `http:NAME`, `junit:NAME`."""
    observed: str
    """What was observed, in words."""
    at: datetime
    """When, UTC."""
    is_error: bool
    """Whether the observation itself went wrong: it says nothing of its subject."""


class _Seen(NamedTuple):
    event_type: str
    name: str
    at_s: int
    facts: Facts
    text: str


async def observe_commands(
    names: Sequence[str], commands: Mapping[str, RegisteredCommand], folder: Path
) -> list[_Seen]:
    """Run registered commands, one after another. Errors: InvalidQuery, for a name that is not registered."""
    return [await _run(name, command, folder) for name, command in _chosen(names, commands)]


async def observe_addresses(names: Sequence[str], addresses: Mapping[str, RegisteredAddress]) -> list[_Seen]:
    """Ask registered addresses, all at once. Errors: InvalidQuery, for a name that is not registered."""
    return list(await asyncio.gather(*(_sample(name, address) for name, address in _chosen(names, addresses))))


async def record_observations(seen: Sequence[_Seen], store: EventStore) -> list[Observation]:
    """Record what was observed, and return it. Errors: those of `EventStore`."""
    await append_all(
        [
            observation(_KINDS[one.event_type], SubjectObserved(one.event_type, _subject(one), one.at_s, one.facts), 0)
            for one in seen
        ],
        store,
    )
    return [
        Observation(
            subject=_subject(one),
            observed=one.text,
            at=datetime.fromtimestamp(one.at_s, UTC),
            is_error="error" in one.facts,
        )
        for one in seen
    ]


def _subject(seen: _Seen) -> str:
    return f"{_KINDS[seen.event_type]}:{seen.name}"


def _chosen(names: Sequence[str], registered: Mapping[str, _Item]) -> list[tuple[str, _Item]]:
    for name in names:
        if name not in registered:
            known = ", ".join(registered) or "nothing"
            raise InvalidQuery("NAME", f"{name!r} is not registered.", f"Registered: {known}.")
    return [(name, registered[name]) for name in names or registered]


async def _run(name: str, command: RegisteredCommand, folder: Path) -> _Seen:
    """Run a command in a group of its own, which ends with it, and keep digests of what it prints."""
    started_s, begin_s = int(time.time()), time.monotonic()
    try:
        process = await asyncio.create_subprocess_exec(
            *command.run, cwd=folder / command.folder, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return _Seen(RAN, name, started_s, {"error": "not started"}, f"not started: {error.strerror}")
    facts: Facts = {}
    try:
        async with asyncio.timeout(command.timeout_s):
            assert process.stdout is not None
            assert process.stderr is not None
            facts["stdout"], facts["stderr"] = await asyncio.gather(_digest(process.stdout), _digest(process.stderr))
            code = await process.wait()
    except TimeoutError:
        code = None
    finally:
        _end(process.pid)
        await process.wait()
    facts["duration_ms"] = int(1_000 * (time.monotonic() - begin_s))
    if code is None:
        facts["error"], text = "timeout", f"no end within {command.timeout_s:g} s"
    elif code < 0:
        facts["error"], facts["signal"], text = "signal", -code, f"ended by signal {-code}"
    else:
        facts["exit"], text = code, f"exit code {code}, {facts['duration_ms']:,} ms"
    return _Seen(RAN, name, int(time.time()), facts, text)


def _end(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


async def _digest(stream: asyncio.StreamReader) -> str:
    digest = sha256()
    while part := await stream.read(1 << 16):
        digest.update(part)
    return digest.hexdigest()


async def _sample(name: str, address: RegisteredAddress) -> _Seen:
    """Ask an address once. Redirects are not followed, and are the answer."""
    try:
        async with asyncio.timeout(address.timeout_s):
            status = await ask_checked(
                "GET", address.url, lambda response: response.status_code, timeout_s=address.timeout_s,
                allow_private=address.allow_private,
            )  # fmt: skip
    except TimeoutError:
        return _Seen(SAMPLED, name, int(time.time()), {"error": "timeout"}, f"no answer within {address.timeout_s:g} s")
    except NO_ANSWER as error:
        reason, detail = describe_failure(error)
        return _Seen(SAMPLED, name, int(time.time()), {"error": reason}, f"{reason}: {detail}")
    return _Seen(SAMPLED, name, int(time.time()), {"status": status}, f"status {status}")


async def observe_alerts(address: str, name: str) -> list[_Seen]:
    """Ask an Alertmanager which alerts fire, also silenced and inhibited ones. Errors: InvalidQuery."""
    alerts = await Alertmanager(address).alerts(ANSWER_S, muted=True)
    facts, text = firing_facts(alerts)
    return [_Seen(POLLED, name, int(time.time()), facts, text)]


def observe_results(files: Iterable[Path], name: str, only: Sequence[str], now: datetime) -> list[_Seen]:
    """Read files of test results (JUnit), each as it was when it was written. Errors: SourceUnreadable."""
    return [_read_results(file, name, frozenset(only), now) for file in files]


def _read_results(file: Path, name: str, only: frozenset[str], now: datetime) -> _Seen:
    advice = "Name a file of test results in the form of JUnit."
    try:
        if file.stat().st_size > RESULT_BYTES_MAX:
            raise SourceUnreadable(f"{file} has over {RESULT_BYTES_MAX >> 20} MiB.", advice)
        root = ET.fromstring(file.read_bytes())  # noqa: S314 - expat limits entities, and loads none
        written_s = min(file.stat().st_mtime, now.timestamp())
    except (OSError, ET.ParseError) as error:
        raise SourceUnreadable(f"{file} cannot be read: {error}.", advice) from None
    results: dict[str, set[str]] = {}
    for case in root.iter("testcase"):
        test = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        if not only or test in only:
            results.setdefault(test, set()).add(_result(case))
    by_result = {
        word: sorted(check_digest(test) for test, found in results.items() if _worst(found) == word)
        for word in ("passed", "failed", "flaky", "skipped")
    }
    facts: Facts = {word: tuple(tests[:ITEMS_MAX]) for word, tests in by_result.items() if tests}
    counts = {word: len(tests) for word, tests in by_result.items() if tests}
    facts |= {f"{word}_tests": number for word, number in counts.items()}
    text = ", ".join(f"{number:,} {word}" for word, number in counts.items()) or "no test"
    return _Seen(TESTED, name, int(written_s), facts, text)


def _result(case: ET.Element) -> str:
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return "failed"
    if "skipped" in kinds:
        return "skipped"
    return "flaky" if kinds & {"flakyFailure", "flakyError", "rerunFailure", "rerunError"} else "passed"


def _worst(results: set[str]) -> str:
    """Return the result of a test with several: one that failed and passed is flaky, and neither."""
    if "failed" in results:
        return "flaky" if "passed" in results else "failed"
    return next(word for word in ("flaky", "passed", "skipped") if word in results)
