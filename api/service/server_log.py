"""The log of a server: structlog's, which a command that logs nothing does not load."""

import sys
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any


@cache  # each line of the log asks for it
def load_structlog() -> ModuleType:
    """Import structlog without rich, which draws tracebacks for a terminal: a start takes 60 ms less."""
    absent = dict.fromkeys({"rich"} - sys.modules.keys())
    sys.modules.update(absent)  # type: ignore[arg-type] # None: such an import fails
    try:
        import structlog  # noqa: PLC0415 - as above
    finally:
        for name in absent:
            del sys.modules[name]
    return structlog


class _ServerLog:
    """Passes calls on to structlog's logger. `api/http/json_log.py` configures it."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - what structlog's logger has
        return getattr(load_structlog().get_logger(), name)


if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

    log: BoundLogger
else:
    log = _ServerLog()
