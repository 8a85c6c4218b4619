"""Append to a peer that is a database or a message server, from some callers at once, and count what it then has.

It runs in the environment of the peers, by the path of this file; the benchmarks import it for that path alone, hence
the imports inside the functions. It prints a JSON object: the events that the peer acknowledged, the seconds that they
took, and the events that it has more than before.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

START_S = 60
"""Seconds in which a peer must be ready."""

REPLICAS = 3


class Store(NamedTuple):
    """A peer: functions that append a batch for a caller, given by its number; count the events; close the connections.

    An append returns when the peer has acknowledged it.
    """

    append: Callable[[int], Awaitable[None]]
    size: Callable[[], Awaitable[int]]
    close: Callable[[], Awaitable[None]]


async def open_eventsourcing(arguments: argparse.Namespace, event: dict[str, Any]) -> Store:
    """Open an application of `eventsourcing` with its PostgreSQL recorder: a thread and a connection for each caller.

    An event is the first one of a new aggregate; a batch is saved by one call.
    """
    from eventsourcing.application import Application
    from eventsourcing.domain import Aggregate

    class Decision(Aggregate):
        def __init__(self, payload: dict[str, Any]) -> None:
            self.payload = payload

    address = urlsplit(arguments.address)
    application = Application[Any](
        env={
            "PERSISTENCE_MODULE": "eventsourcing.postgres",
            "POSTGRES_DBNAME": address.path[1:],
            "POSTGRES_HOST": str(address.hostname),
            "POSTGRES_PORT": str(address.port),
            "POSTGRES_USER": str(address.username),
            "POSTGRES_PASSWORD": "",
            "POSTGRES_POOL_SIZE": str(arguments.callers),
            "POSTGRES_CONNECT_TIMEOUT": str(START_S),
        }
    )
    threads = ThreadPoolExecutor(arguments.callers)
    loop = asyncio.get_running_loop()

    def save() -> None:
        application.save(*(Decision(event["data"]) for _ in range(arguments.batch)))

    async def append(_caller: int) -> None:
        await loop.run_in_executor(threads, save)

    async def size() -> int:
        return application.recorder.max_notification_id() or 0

    async def close() -> None:
        threads.shutdown()
        application.close()

    return Store(append, size, close)


async def open_message_db(arguments: argparse.Namespace, event: dict[str, Any]) -> Store:
    """Open a connection for each caller to a database with the functions of message-db.

    An event is the first one of a new stream. A batch is one statement, which calls the function for each event:
    message-db has no function for many.
    """
    import asyncpg

    body, name, batch = json.dumps(event["data"]), event["type"], arguments.batch
    one = "SELECT message_store.write_message($1::varchar, $2::varchar, $3::varchar, $4::jsonb)"
    many = (
        "SELECT count(message_store.write_message(added.id, added.stream, $3::varchar, $4::jsonb))"
        " FROM unnest($1::varchar[], $2::varchar[]) AS added (id, stream)"
    )
    settings = {"search_path": "message_store,public"}
    connections = [await asyncpg.connect(arguments.address, server_settings=settings) for _ in range(arguments.callers)]
    statements = [await connection.prepare(one if batch == 1 else many) for connection in connections]

    async def append(caller: int) -> None:
        ids = [str(uuid4()) for _ in range(batch)]
        streams = [f"decision{caller % arguments.categories}-{event_id}" for event_id in ids]
        if batch == 1:
            await statements[caller].fetchval(ids[0], streams[0], name, body)
        else:
            await statements[caller].fetchval(ids, streams, name, body)

    async def size() -> int:
        return int(await connections[0].fetchval("SELECT count(*) FROM message_store.messages"))

    async def close() -> None:
        for connection in connections:
            await connection.close()

    return Store(append, size, close)


async def open_nats(arguments: argparse.Namespace, event: dict[str, Any]) -> Store:
    """Connect to a cluster of NATS, and make a stream with three replicas in files, unless it is there."""
    import nats
    from nats.js.api import StorageType, StreamConfig

    client = await nats.connect(arguments.address.split(","))
    stream = client.jetstream(timeout=START_S)
    config = StreamConfig(name="decisions", subjects=["decision.*"], num_replicas=REPLICAS, storage=StorageType.FILE)
    deadline_s = time.monotonic() + START_S
    while True:
        try:
            await client.jetstream(timeout=1).add_stream(config)
            break
        except nats.errors.Error:
            if time.monotonic() > deadline_s:
                raise
            await asyncio.sleep(0.2)  # the cluster has elected no leader yet
    payload = json.dumps(event).encode()

    async def append(caller: int) -> None:
        await stream.publish(f"decision.{caller}", payload)

    async def size() -> int:
        return int((await stream.stream_info("decisions")).state.messages)

    return Store(append, size, client.close)


async def measure(store: Store, callers: int, batch: int, seconds: float) -> dict[str, float]:
    """Append from all callers for some seconds, once each at least; return what was acknowledged and what is there."""
    before = await store.size()
    start_s = time.perf_counter()
    done = 0

    async def call(caller: int) -> None:
        nonlocal done
        while True:
            await store.append(caller)
            done += batch
            if time.perf_counter() - start_s >= seconds:
                return

    await asyncio.gather(*(call(caller) for caller in range(callers)))
    elapsed_s = time.perf_counter() - start_s
    return {"acknowledged": done, "seconds": elapsed_s, "stored": await store.size() - before}


OPEN = {"eventsourcing": open_eventsourcing, "message-db": open_message_db, "nats": open_nats}


async def run(arguments: argparse.Namespace, event: dict[str, Any]) -> dict[str, float]:
    """Open a peer and measure it."""
    store = await OPEN[arguments.peer](arguments, event)
    try:
        return await measure(store, arguments.callers, arguments.batch, arguments.seconds)
    finally:
        await store.close()


def main() -> None:
    """Read an event from standard input, measure, and print the figures."""
    import uvloop

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=OPEN)
    parser.add_argument("address", help="of the database, or of the servers of NATS with commas between them")
    parser.add_argument("--callers", type=int, required=True, help="appends at the same time")
    parser.add_argument("--batch", type=int, default=1, help="events of an append")
    parser.add_argument("--categories", type=int, default=1, help="categories of message-db, each with its own order")
    parser.add_argument("--seconds", type=float, required=True)
    print(json.dumps(uvloop.run(run(parser.parse_args(), json.load(sys.stdin)))))


if __name__ == "__main__":
    main()
