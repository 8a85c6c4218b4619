"""Every limit of the house, in one place.

Bad input beyond a limit is refused with the limit's name and value; nothing is cut short.
"""

LINE_BYTES_MAX = 65_535
"""One event as stored. Tile entries carry a 16-bit length (reference/proof.md), hence this bound."""

BODY_BYTES_MAX = 16 * 1024 * 1024
"""One HTTP request body."""

HEAD_BYTES_MAX = 65_536
"""The head of one HTTP request: its address and headers; and whatever stands between pieces of a body."""

HEADERS_MAX = 100
"""Headers of one HTTP request."""

URL_BYTES_MAX = 32_768
"""The address of one HTTP request; 256 streams are asked for in 21,000."""

PIPELINED_MAX = 16
"""HTTP requests that a connection may send before the first is answered."""

CONNECTIONS_MAX = 1_000
"""Connections open at once, unless `serve --connections` says otherwise."""

HEAD_S = 10
"""Seconds that a client has for the head of a request, and for its first one, and for a TLS handshake."""

BODY_S = 20
"""Seconds that a client has for a body, besides those for its size."""

BODY_BYTES_PER_S_MIN = 16_384
"""How fast a body must come on average, once BODY_S are over."""

STALL_BYTES = 65_536
"""Bytes of an answer that waits for its client which that must take every STALL_S."""

STALL_S = 60
"""Seconds that a client has to take STALL_BYTES."""

IDLE_S = 30
"""Seconds that a connection may be kept without a request."""

LINGER_S = 2
"""Seconds for which what comes after a refusal is thrown away before the connection is closed."""

EVIDENCE_BYTES_MAX = BODY_BYTES_MAX
"""One piece of evidence, uncompressed."""

EVIDENCE_WORDS_CHARS_MAX = 1_000
"""Characters of a note on evidence, and of the reason of its erasure; they travel in a URL."""

BATCH_EVENTS_MAX = 2_000
"""Events in one append; they are one statement, one transaction, one sync."""

GROUP_EVENTS_MAX = 2_048
"""Events in one group commit; at least one full batch, and within SQLite's 32,766 bound parameters."""

QUEUE_EVENTS_MAX = 20_000
"""Events waiting for the writer; beyond it an append is refused with LedgerBusy."""

PAGE_EVENTS_MAX = 1_000
"""Events in one page of a read."""

PAGE_EVENTS_DEFAULT = 100
"""Events in a page when the reader names no number."""

EVENT_ID_CHARS_MAX = 128
"""Characters of an event's id."""

STREAM_ID_CHARS_MAX = 64
"""Characters of the id that names a stream: decision_id, run_id, key, scenario_id, digest."""

AGENT_NAME_CHARS_MAX = 64
"""Characters of an agent's name, the last part of its source."""

TRACE_CHARS_MAX = 256
"""Characters of traceparent, correlationid and causationid."""

LABEL_CHARS_MAX = 256
"""Characters of a short text that figures are grouped by: category, project, feature, a tag."""

ITEMS_MAX = 256
"""Items in one list inside a payload: tags, reasons, steps."""

SEARCH_WORDS_MAX = 1_000
"""Different words in one search."""

ANSWER_BYTES_MAX = 4 * 1024 * 1024
"""One answer of a router, decompressed; beyond it the attempt has failed."""

NOTE_BYTES_MAX = 256 * 1024
"""One signed note; a signature that withstands quantum computers has nearly 5 kB, and 16 must find room."""

NOTE_SIGNATURES_MAX = 64
"""Signatures of one note."""

KEY_NAME_CHARS_MAX = 255
"""Characters of the name of a key, which is also the origin of a log."""

RECEIPT_BYTES_MAX = NOTE_BYTES_MAX + 2 * LINE_BYTES_MAX
"""One receipt: a checkpoint, the line in base64, and 63 hashes."""


PAYLOAD_BYTES_MAX = LINE_BYTES_MAX - 1_024
"""So large may a payload be, whatever its envelope adds to it."""


BATCH_BYTES_MAX = BODY_BYTES_MAX // 2
"""Bytes in one batch, so that it fits into one request."""
