"""What finds no room on a line is kept as evidence: how much room there is, and what may not be kept again."""

from collections.abc import Sequence

from api.custody import Blob, digest_of
from api.steps import Book
from events.limits import ITEMS_MAX, LINE_BYTES_MAX
from events.registry import VOCABULARY

PAYLOAD_BYTES_MAX = LINE_BYTES_MAX - 1_024
"""So large may a payload be, whatever its envelope adds to it."""


async def unerased(book: Book, blobs: Sequence[Blob]) -> list[Blob]:
    """Those of some bytes that were never erased, each once. Errors: those of reading."""
    left = {digest_of(blob.data): blob for blob in blobs}
    digests = list(left)
    for start in range(0, len(digests), ITEMS_MAX):
        subjects = [f"evidence/{digest}" for digest in digests[start : start + ITEMS_MAX]]
        for event in VOCABULARY.events(await book.streams(subjects, ("evidence.erased.v1",))):
            del left[event.subject.partition("/")[2]]
    return list(left.values())
