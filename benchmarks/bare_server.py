"""The bare mechanism: a Starlette handler that only reads the body and answers 201."""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http.server import listen_on_any_address, uvicorn_config


async def post(request: Request) -> Response:
    """Do the minimum that an HTTP service can do with an event."""
    await request.body()
    return Response(b'{"position":1}', 201, media_type="application/json")


def main() -> None:
    """Serve until terminated; write the address to standard error."""
    listening = listen_on_any_address("127.0.0.1", 0)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn_config(Starlette(routes=[Route("/events", post, methods=["POST"])]))).run([listening])


if __name__ == "__main__":
    main()
