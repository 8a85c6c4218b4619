"""Check the key with which a client makes a retry safe. The key becomes the id of the event."""

from api.cstp.params_schema import ParameterError, wrong_params_error
from events.limits import EVENT_ID_CHARS_MAX


def check_key(key: str | None, name: str) -> None:
    """Check that a key is printable. Errors: RpcError, naming the parameter as the client spelled it."""
    if key is not None and not key.isprintable():
        raise wrong_params_error([ParameterError(name, f"must be 1..{EVENT_ID_CHARS_MAX} printable characters")])
