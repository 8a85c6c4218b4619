"""A peer: the service that one writes in an afternoon, FastAPI over SQLAlchemy over SQLite.

It checks the body, stores each event in one transaction, and answers after the sync, as Tallystick does. It has no
streams, no hashes, no views and no limits. It runs in the environment of the peers, by the path of this file; the
benchmarks import it for that path alone, hence the imports inside the functions.
"""

import argparse
import socket
import sys
from typing import Any
from uuid import uuid4


def make_app(path: str) -> Any:  # noqa: ANN401 - FastAPI is not in the environment that checks types
    """Return the application over a database file."""
    from fastapi import FastAPI
    from pydantic import BaseModel

    engine, events = open_database(path)

    class Event(BaseModel):
        type: str
        data: dict[str, Any]
        source: str = "/agents/anonymous"
        id: str | None = None

    def row(event: Event) -> dict[str, Any]:
        return {"id": event.id or str(uuid4()), "source": event.source, "type": event.type, "data": event.data}

    def post_event(event: Event) -> dict[str, int]:
        with engine.begin() as connection:
            inserted = connection.execute(events.insert(), row(event))
        return {"position": inserted.inserted_primary_key[0]}

    def post_batch(batch: list[Event]) -> dict[str, int]:
        with engine.begin() as connection:
            connection.execute(events.insert(), [row(event) for event in batch])
        return {"events": len(batch)}

    app = FastAPI()
    app.add_api_route("/events", post_event, methods=["POST"], status_code=201)
    app.add_api_route("/batches", post_batch, methods=["POST"], status_code=201)
    return app


def open_database(path: str) -> tuple[Any, Any]:
    """Return the engine and the table of a database with a write-ahead log, synced at each commit."""
    from sqlalchemy import JSON, Column, DateTime, Integer, MetaData, Table, Text, UniqueConstraint, create_engine
    from sqlalchemy import event as events_of
    from sqlalchemy.sql import func

    # One connection: a second writer would only wait for the first, asleep in SQLite's busy handler.
    engine = create_engine(f"sqlite:///{path}", pool_size=1, max_overflow=0, pool_timeout=600)

    def sync_fully(connection: Any, _: object) -> None:  # noqa: ANN401 - a connection of SQLAlchemy's driver
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")

    events_of.listen(engine, "connect", sync_fully)
    metadata = MetaData()
    events = Table(
        "events",
        metadata,
        Column("position", Integer, primary_key=True),
        Column("id", Text, nullable=False),
        Column("source", Text, nullable=False),
        Column("type", Text, nullable=False, index=True),
        Column("recorded", DateTime, nullable=False, server_default=func.now()),
        Column("data", JSON, nullable=False),
        UniqueConstraint("source", "id"),
    )
    metadata.create_all(engine)
    return engine, events


def main() -> None:
    """Serve until terminated; write the address to standard error."""
    import uvicorn

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database", help="the database file")
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    config = uvicorn.Config(
        make_app(parser.parse_args().database), loop="uvloop", http="httptools", access_log=False, log_level="warning"
    )
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
    uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
