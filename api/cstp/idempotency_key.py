"""The key by which a client makes a retry safe: it becomes the id of the event."""

from api.cstp.params import ParameterError, refusal


def check_key(key: str | None, name: str) -> None:
    """Errors: RpcError, naming the parameter as the client spelled it, for a key with characters that do not print."""
    if key is not None and not key.isprintable():
        raise refusal([ParameterError(name, "must be 1..128 printable characters")])
