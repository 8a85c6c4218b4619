"""The key by which a client makes a retry safe: it becomes the id of the event."""

from api.cstp.params import ParameterError, refuse_params


def check_key(key: str | None, name: str) -> None:
    """Check that a key is printable. Errors: RpcError, naming the parameter as the client spelled it."""
    if key is not None and not key.isprintable():
        raise refuse_params([ParameterError(name, "must be 1..128 printable characters")])
