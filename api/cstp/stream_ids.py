"""Check parameters that name decisions which need not be in the ledger."""

import re
from collections.abc import Mapping

from api.cstp.params_schema import ParameterError, wrong_params_error
from events.limits import STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN, STREAM_ID_SHAPE

RULE = f"must be {STREAM_ID_SHAPE}"

_stream_id = re.compile(STREAM_ID_PATTERN, re.ASCII)


def check_stream_ids(ids: Mapping[str, str | None]) -> None:
    """Check that the values of some parameters can be ids of decisions. Errors: RpcError, naming each wrong one."""
    errors = [
        ParameterError(parameter, RULE)
        for parameter, value in ids.items()
        if value is not None and (len(value) > STREAM_ID_CHARS_MAX or _stream_id.fullmatch(value) is None)
    ]
    if errors:
        raise wrong_params_error(errors)
