"""The evidence of an export: which digests it asks for, and their bytes."""

import re
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from api.auth import OWNER
from api.service.evidence import EvidenceService
from ledger import Page
from ledger.errors import Damaged, Gone

STORED = "evidence.stored.v1"

_named = re.compile(rb'"([0-9a-f]{64})"')


class ExportedEvidence(NamedTuple):
    """Evidence that the log keeps, up to the checkpoint; no `data` where its bytes cannot be read."""

    digest: str
    data: bytes | None


async def material(custody: EvidenceService, pages: AsyncIterator[Page], size: int) -> AsyncIterator[ExportedEvidence]:
    """The evidence that some events name, each once, as the log stands at a size.

    What was erased until then is left out; what was erased since, or is damaged, comes without its bytes. The digests
    seen are held: 32 bytes each.
    """
    seen: set[bytes] = set()
    async for page in pages:
        named = dict.fromkeys(_named.findall(page.ndjson))
        new = [digest for digest in named if bytes.fromhex(digest.decode()) not in seen]
        seen.update(bytes.fromhex(digest.decode()) for digest in new)
        for digest in await _kept(custody, [digest.decode() for digest in new], size):
            yield ExportedEvidence(digest, await _bytes_of(custody, digest))


async def _kept(custody: EvidenceService, digests: Sequence[str], size: int) -> list[str]:
    """Those that the log keeps at a size."""
    found = await custody.known(digests)
    return [
        digest
        for digest, known in found.items()
        if known.position <= size and (known.erasure is None or known.erased_position > size)
    ]


async def _bytes_of(custody: EvidenceService, digest: str) -> bytes | None:
    try:
        return (await custody.get(digest, OWNER)).data
    except (Gone, Damaged):
        return None
