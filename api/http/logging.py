"""Log lines as JSON on standard error."""

import logging
import os
import sys
from contextlib import suppress

import msgspec
import structlog

log = structlog.get_logger()


class RequestLogging:
    """Whether successful requests are logged. A check of this is faster than structlog's own filter."""

    enabled = False


class StderrWriter:
    """Writes each log line at once. It drops a line that cannot be written: a full disk must not stop the server."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._partial = False

    def msg(self, message: bytes) -> None:
        """Write a line; after a partly written one, start a new line first."""
        line = (b"\n" if self._partial else b"") + message + b"\n"
        with suppress(OSError):
            self._partial = os.write(self._descriptor, line) < len(line)

    debug = info = warning = error = exception = critical = msg


class StdlibHandler(logging.Handler):
    """Formats the log records of libraries as JSON."""

    def emit(self, record: logging.LogRecord) -> None:
        log.log(record.levelno, "library", logger=record.name, message=record.getMessage(), exc_info=record.exc_info)


def configure_logging(level: str = "info") -> None:
    """Log JSON on standard error, from `level` up: debug, info, warning or error. Libraries log from warning up."""
    logging.basicConfig(level=logging.WARNING, handlers=[StdlibHandler()])
    # uvicorn's warnings are about refused requests, which are logged already.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    RequestLogging.enabled = level == "debug"
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=lambda value, **_: msgspec.json.encode(value, enc_hook=repr)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *_: StderrWriter(sys.stderr.fileno()),
        cache_logger_on_first_use=True,
    )
