"""Keep the files of a suite as evidence, so that the ledger alone can show and run this version later.

Each file is stored once, by its digest, and so is the manifest that lists them. Only files that the ledger does not
have are read and sent. Files that were erased before are not stored again.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from api.errors import BodyTooLarge
from api.service.evidence import Blob, digest_of
from api.service.retry import retry, while_refused
from api.service.store import EventStore
from events.evidence import EvidenceErased, EvidenceStored
from events.limits import BATCH_BYTES_MAX, EVIDENCE_BYTES_MAX, EVIDENCE_NOTE_CHARS_MAX, ITEMS_MAX
from events.registry import VOCABULARY
from instruments.errors import BadFixtures
from instruments.evals.scenario import Scenario
from instruments.evals.suite.manifest import encode_manifest, list_files
from ledger.errors import Gone, InvalidQuery

FILES_PER_BATCH = 100
"""The most files in one append."""

_Item = TypeVar("_Item")
JSON = "application/json"
YAML = "application/yaml"


class _FileToKeep(msgspec.Struct, frozen=True):
    """A file: its path in the manifest, where it is, its digest, and its size."""

    path: str
    source: Path
    digest: str
    size_bytes: int


async def keep_suite_files(store: EventStore, suite: str, scenarios: Sequence[Scenario]) -> str:
    """Store the files of scenarios, and the manifest that lists them; return the digest of the manifest.

    Errors: BadFixtures and BodyTooLarge: nothing was written; InvalidQuery, for a file that changed since it was
    loaded, and those of `EventStore.append`: what was written before stays, and storing again is safe.
    """
    manifest = _build_manifest(scenarios)
    files = [
        _FileToKeep(f"{scenario.title}/{file.name}", scenario.folder / file.name, file.digest, file.size_bytes)
        for scenario in scenarios
        for file in scenario.files
    ]
    by_digest = {file.digest: file for file in files}
    async for unknown in _find_unknown(store, list(by_digest)):
        sized = [(by_digest[digest], by_digest[digest].size_bytes) for digest in unknown]
        for batch in split_batches(sized, FILES_PER_BATCH):
            blobs = [Blob(_read(file), media_type_of(file.path), _note(suite, file.path)) for file in batch]
            await _store(store, blobs)
    await _store(store, [Blob(manifest, JSON, _note(suite, "the list of its files"))])
    return digest_of(manifest)


def media_type_of(path: str) -> str:
    """Return the media type of a file of a suite."""
    return JSON if path.endswith(".json") else YAML


def _build_manifest(scenarios: Sequence[Scenario]) -> bytes:
    """Return the manifest of scenarios. Errors: BadFixtures, BodyTooLarge."""
    advice = "Nothing was written. --no-keep-files runs without keeping files."
    try:
        manifest = encode_manifest(list_files(scenarios))
    except BadFixtures as error:
        raise BadFixtures(error.faults, advice) from None
    if len(manifest) > EVIDENCE_BYTES_MAX:
        raise BodyTooLarge(
            f"The list of the suite's files has {len(manifest):,} bytes, and what is kept as evidence has at most "
            f"{EVIDENCE_BYTES_MAX:,}.",
            "Split the suite, or run it with --no-keep-files.",
        )
    return manifest


async def _find_unknown(store: EventStore, digests: Sequence[str]) -> AsyncIterator[list[str]]:
    """Yield the digests that the ledger has no event of, some at a time."""
    for start in range(0, len(digests), ITEMS_MAX):
        some = digests[start : start + ITEMS_MAX]
        known = await read_evidence_states(store, some)
        if unknown := [digest for digest in some if digest not in known]:
            yield unknown


async def read_evidence_states(store: EventStore, digests: Sequence[str]) -> dict[str, EvidenceStored | EvidenceErased]:
    """Return the last event of each digest that has one. Errors: those of reading."""
    states: dict[str, EvidenceStored | EvidenceErased] = {}
    for start in range(0, len(digests), ITEMS_MAX):
        subjects = [f"evidence/{digest}" for digest in digests[start : start + ITEMS_MAX]]
        for fact in VOCABULARY.facts(await store.streams(subjects)):
            if isinstance(fact.data, EvidenceStored | EvidenceErased):
                states[fact.data.digest] = fact.data
    return states


async def _store(store: EventStore, blobs: Sequence[Blob]) -> None:
    """Store blobs, except those that were erased, or that another process stores meanwhile."""

    async def attempt(again: bool) -> None:
        known = await read_evidence_states(store, [digest_of(blob.data) for blob in blobs]) if again else {}
        missing = [blob for blob in blobs if digest_of(blob.data) not in known]
        try:
            async with store.keep(missing) as drafts:
                if drafts:
                    await store.append(drafts)
        except Gone:
            if again:
                raise
            await attempt(again=True)

    await retry(attempt, while_refused)


def split_batches(sized: Iterable[tuple[_Item, int]], items_max: int) -> Iterator[list[_Item]]:
    """Yield items in batches for one append each, given each item with the size of its bytes."""
    batch: list[_Item] = []
    total_bytes = 0
    for item, size_bytes in sized:
        total_bytes += size_bytes
        if batch and (len(batch) == items_max or total_bytes > BATCH_BYTES_MAX):
            yield batch
            batch, total_bytes = [], size_bytes
        batch.append(item)
    if batch:
        yield batch


def _read(file: _FileToKeep) -> bytes:
    """Return the bytes of a file, as they were loaded. Errors: InvalidQuery."""
    try:
        data = file.source.read_bytes()
    except OSError as error:
        raise InvalidQuery(
            "fixtures", f"{file.path} cannot be read any more: {error.strerror}.", "Run it again."
        ) from None
    if digest_of(data) != file.digest:
        raise InvalidQuery("fixtures", f"{file.path} was changed after it was read.", "Run it again.")
    return data


def _note(suite: str, what: str) -> str:
    note = f"Suite {suite}: {what}"
    return note if len(note) <= EVIDENCE_NOTE_CHARS_MAX else f"{note[: EVIDENCE_NOTE_CHARS_MAX - 3]}..."
