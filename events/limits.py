"""Every limit of Tallystick, in one place.

Input beyond a limit is refused, and the error states the limit; nothing is truncated.
"""

LINE_BYTES_MAX = 65_535
"""One event as stored. A tile entry has a length of 16 bits (C2SP tlog-tiles), hence this bound."""

BODY_BYTES_MAX = 16 * 1024 * 1024
"""One HTTP request body."""

HEAD_BYTES_MAX = 65_536
"""The head of one HTTP request: request line and headers; also the bytes between the chunks of a body."""

HEADERS_MAX = 100
"""Headers of one HTTP request."""

URL_BYTES_MAX = 32_768
"""The URL of one HTTP request; a read of 256 streams needs 21,000."""

PIPELINED_MAX = 16
"""HTTP requests that a client may send on a connection before the first answer."""

CONNECTIONS_MAX = 1_000
"""Connections open at once, unless `serve --connections` says otherwise."""

CONNECTIONS_PER_CLIENT_MAX = 128
"""Connections of one address on which no request was authenticated yet; `serve --connections-per-client`."""

CONNECTIONS_PER_TOKEN_MAX = 256
"""Requests of one token that run at once, each on its connection; `serve --connections-per-token`."""

CONNECTIONS_RESERVED = 512
"""Connections beyond the limits that the server accepts to answer `/healthz` and `/readyz`, until each has asked."""

CONNECTIONS_REFUSED_MAX = 1_000
"""Refused connections that are kept until the client has received the answer; beyond these the oldest is aborted."""

FEEDS_MAX = 512
"""Feeds open at once; `serve --feeds`."""

FEEDS_PER_TOKEN_MAX = 32
"""Feeds of one token; `serve --feeds-per-token`."""

BODIES_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of request bodies in memory; `serve --bodies-mib`. The first BODY_BYTES_FREE of each body do not count."""

BODIES_BYTES_PER_TOKEN_MAX = 32 * 1024 * 1024
"""Bytes of the request bodies of one token in memory; `serve --bodies-mib-per-token`."""

BODY_BYTES_FREE = 65_536
"""Bytes of a body that do not count, so that a small request is never refused because of large ones."""

QUERIES_MAX = 2
"""Queries of views computed at once, one for each token; `serve --queries`. Others wait."""

QUERY_S = 10
"""Seconds in which the query of a view must be answered; `serve --query-seconds`."""

REFUSALS_PER_S_MAX = 20
"""Requests without a valid token that are refused at once, per second and address; `serve --refusals`."""

REFUSALS_BURST = 200
"""Requests without a valid token that are refused at once after a pause, for one address."""

REFUSALS_LOGGED_PER_S = 20
"""Log lines of refused requests per second and reason; the others are counted in one line."""

HEAD_S = 10
"""Seconds that a client has for the head of a request, for its first request, and for a TLS handshake."""

BODY_S = 20
"""Seconds that a client has for a body, plus the time that BODY_BYTES_PER_S_MIN allows for its size."""

BODY_BYTES_PER_S_MIN = 16_384
"""Lowest average rate of a body after the first BODY_S, bytes per second."""

STALL_BYTES = 65_536
"""Bytes that a client must read of a waiting answer in every STALL_S."""

STALL_S = 60
"""Seconds that a client has to read STALL_BYTES."""

IDLE_S = 30
"""Seconds that a connection may be idle."""

LINGER_S = 2
"""Seconds for which input after a refusal is discarded before the connection is closed."""

OTLP_RECORDS_MAX = 10_000
"""Log records or spans in one request of OTLP. The OpenTelemetry SDKs send 512 at once by default."""

OTLP_VALUES_MAX = 200_000
"""Records, attributes and their values in one request of OTLP, which take more memory than bytes of the body."""

EVIDENCE_BYTES_MAX = BODY_BYTES_MAX
"""One piece of evidence, uncompressed."""

EVIDENCE_NOTE_CHARS_MAX = 1_000
"""Characters of a note on evidence, and of the reason for its erasure; both are sent in a URL."""

BATCH_EVENTS_MAX = 2_000
"""Events in one append: one statement, one transaction, one sync."""

GROUP_EVENTS_MAX = 2_048
"""Events in one group commit; at least one full batch, and within SQLite's 32,766 bound parameters."""

QUEUE_EVENTS_MAX = 20_000
"""Events that wait for the writer; beyond it an append is refused with LedgerBusy."""

PAGE_EVENTS_MAX = 1_000
"""Events in one page of a read."""

PAGE_EVENTS_DEFAULT = 100
"""Events in a page when the client gives no limit."""

EVENT_ID_CHARS_MAX = 128
"""Characters of an event's id."""

STREAM_ID_CHARS_MAX = 64
"""Characters of the id that names a stream: decision_id, run_id, key, scenario_id, digest."""

AGENT_NAME_CHARS_MAX = 64
"""Characters of an agent's name, the last part of its source."""

TRACE_CHARS_MAX = 256
"""Characters of traceparent, correlationid and causationid."""

EXTENSIONS_MAX = 32
"""Extension attributes of one event."""

EXTENSION_NAME_CHARS_MAX = 64
"""Characters of the name of an extension attribute. CloudEvents recommends at most 20."""

EXTENSION_BYTES_MAX = 4_096
"""Names and values of the extension attributes of one event, in UTF-8."""

LABEL_CHARS_MAX = 256
"""Characters of a label that figures are grouped by: category, project, feature, a tag."""

ITEMS_MAX = 256
"""Items in one list inside a payload: tags, reasons, steps."""

SEARCH_WORDS_MAX = 1_000
"""Different words in one search."""

ANSWER_BYTES_MAX = 4 * 1024 * 1024
"""One answer of a router, decompressed; a larger one makes the attempt fail."""

NOTE_BYTES_MAX = 256 * 1024
"""One signed note; a post-quantum signature has nearly 5 kB, and 16 must fit."""

NOTE_SIGNATURES_MAX = 64
"""Signatures of one note."""

KEY_NAME_CHARS_MAX = 255
"""Characters of the name of a key, which is also the log's origin."""

RECEIPT_BYTES_MAX = NOTE_BYTES_MAX + 2 * LINE_BYTES_MAX
"""One receipt: a checkpoint, the line in base64, and 63 hashes."""

PAYLOAD_BYTES_MAX = LINE_BYTES_MAX - 1_024
"""One payload; it fits into a line with any envelope that has no extension attributes."""

BATCH_BYTES_MAX = BODY_BYTES_MAX // 2
"""One batch that a client sends, so that it fits into one request."""

WEBHOOKS_MAX = 32
"""Webhooks of one ledger."""
