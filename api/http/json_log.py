"""Write the log to standard error, each line as JSON."""

import logging
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from api.service.server_log import load_structlog

if TYPE_CHECKING:
    import structlog
else:
    structlog = load_structlog()

log = structlog.get_logger()


class RequestLogging:
    """States whether successful requests are logged. This check is faster than structlog's filter."""

    enabled = False


class StderrWriter:
    """Writes each log line without a buffer. Drops a line that fails: a full disk must not stop the server."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._partial = False

    def msg(self, message: bytes) -> None:
        """Write a line. If the line before was written in part, end it first."""
        line = (b"\n" if self._partial else b"") + message + b"\n"
        with suppress(OSError):
            self._partial = os.write(self._descriptor, line) < len(line)

    debug = info = warning = error = exception = critical = msg


class StdlibHandler(logging.Handler):
    """Formats the log records of libraries as JSON."""

    def emit(self, record: logging.LogRecord) -> None:
        log.log(record.levelno, "library", logger=record.name, message=record.getMessage(), exc_info=record.exc_info)


def configure_logging(level: str = "info") -> None:
    """Log events of `level` and above: debug, info, warning or error. Libraries log warnings and errors."""
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
