"""JSON log lines on standard error."""

import logging
import os
import sys
from contextlib import suppress

import msgspec
import structlog

log = structlog.get_logger()


class _Level:
    """Whether requests that succeed are logged: asking structlog each time would build a logger to say no."""

    debug = False


_LEVEL = _Level()


class StderrWriter:
    """Where log lines go, each in one write. One that cannot be written is let go: a full disk must stop no server."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._torn = False

    def msg(self, message: bytes) -> None:
        """Write a line, on a line of its own after one that found no room for its end."""
        line = (b"\n" if self._torn else b"") + message + b"\n"
        with suppress(OSError):
            self._torn = os.write(self._descriptor, line) < len(line)

    debug = info = warning = error = exception = critical = msg


class StdlibHandler(logging.Handler):
    """What libraries log, as lines like ours."""

    def emit(self, record: logging.LogRecord) -> None:
        log.log(record.levelno, "library", logger=record.name, message=record.getMessage(), exc_info=record.exc_info)


def configure_logging(level: str = "info") -> None:
    """JSON lines on standard error, from `level` up: debug, info, warning or error; of libraries, their warnings."""
    logging.basicConfig(level=logging.WARNING, handlers=[StdlibHandler()])
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # what it warns of is a refusal, and told as one
    _LEVEL.debug = level == "debug"
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
