"""Request bodies that are one JSON object of a door's own: decoded, or refused by the name of what is wrong."""

from typing import Generic, TypeVar

import msgspec
from starlette.requests import Request

from api.ingest import JSON, read_body
from api.problems import UnsupportedMedia
from events.refusal import UNDECODABLE, refuse

_Shape = TypeVar("_Shape", bound=msgspec.Struct)


class Body(Generic[_Shape]):
    """A body of one shape. An empty one is an object without fields."""

    def __init__(self, shape: type[_Shape]) -> None:
        self._decode = msgspec.json.Decoder(shape).decode
        self._fields = shape.__struct_fields__

    async def read(self, request: Request) -> _Shape:
        """The body of a request. Errors: UnsupportedMedia, BodyTooLarge, MalformedInput, InvalidEvent."""
        media = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if media != JSON:
            raise UnsupportedMedia(f"content-type {media!r} is not spoken here; nothing was written.", f"Send {JSON}.")
        body = await read_body(request)
        try:
            return self._decode(body or b"{}")
        except UNDECODABLE as error:
            raise refuse(error, (), fields=self._fields) from None
