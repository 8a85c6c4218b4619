"""Start a cluster as examples/postgresql has it, on this machine, to try failovers out.

Three nodes run here, each with etcd, PostgreSQL under Patroni, and a server of Tallystick. A load appends events, and a
page shows who leads. Type a command to let something fail:

  kill NODE        end every process of a node, as if its machine had lost its power
  freeze NODE      stop every process of a node where it is
  thaw NODE        let them continue
  postmaster NODE  kill PostgreSQL alone
  server NODE      kill the server of Tallystick alone; it starts again by itself
  start NODE       start a node that was killed

Ctrl-C ends everything. Example: make cluster ARGS="--rate 100 --keep --folder /tmp/trial"
"""

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from tallystick import TallystickError
from tests.cluster.load import Load
from tests.cluster.node import ClusterNode
from tests.cluster.page import serving_page
from tests.cluster.patroni_cluster import PatroniCluster, patroni_cluster
from tests.cluster.programs import ProgramsMissing
from tests.cluster.status import StatusBoard

PAGE_PORT = 8320
STOP_S = 15.0
"""How long a client of the load gets to finish its request."""

COMMANDS: Mapping[str, Callable[[ClusterNode], object]] = {
    "kill": ClusterNode.kill,
    "freeze": ClusterNode.freeze,
    "thaw": ClusterNode.thaw,
    "postmaster": ClusterNode.kill_postmaster,
    "server": ClusterNode.kill_server,
    "start": ClusterNode.start,
}


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def read_commands(cluster: PatroniCluster) -> None:
    """Do what is typed, until the end of standard input."""
    names = [node.name for node in cluster.nodes]
    for line in sys.stdin:
        words = line.split()
        if len(words) == 2 and words[0] in COMMANDS and words[1] in names:
            COMMANDS[words[0]](cluster.node(words[1]))
            say(f"done: {line.strip()}")
        elif words:
            say(f"Type one of {', '.join(COMMANDS)}, and a node: {', '.join(names)}. Ctrl-C ends everything.")


def rehearse(cluster: PatroniCluster, arguments: argparse.Namespace, stopping: threading.Event) -> int:
    """Run the load and the page until the end; return 1 if an acknowledged event is lost or an event is there twice."""
    load = Load(cluster.urls, cluster.token, clients=arguments.clients, rate=arguments.rate)
    board = StatusBoard(cluster, load)
    try:
        with serving_page(board, arguments.port) as url:
            for name, value in (
                ("page", url),
                ("status", f"{url}status.json"),
                ("servers", " ".join(cluster.urls)),
                ("ledger", cluster.place()),
                ("token", cluster.token),
                ("folder", cluster.folder),
            ):
                say(f"{name:<8}{value}")
            say("Ctrl-C ends everything; --help lists what you can type.")
            load.start()
            threading.Thread(target=read_commands, args=(cluster,), daemon=True).start()
            stopping.wait(arguments.seconds)
            load.stop(STOP_S)
            try:
                found = load.check()
            except TallystickError as error:
                say(f"The log cannot be compared with the {load.state().appended} events that were appended: {error}")
                return 1
            say(f"{found.acknowledged} events appended; lost {found.lost}, moved {found.moved}, twice {found.twice}")
            return 0 if found.clean else 1
    finally:
        board.stop()


def main() -> int:
    """Start the cluster, and end it on SIGINT, on SIGTERM or after some seconds."""
    parser = argparse.ArgumentParser(
        prog="make cluster", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="a new folder for the nodes (default: a temporary one)")
    parser.add_argument("--keep", action="store_true", help="keep the folder at the end")
    parser.add_argument("--seconds", type=float, help="end after so many seconds of load (default: at Ctrl-C)")
    parser.add_argument("--rate", type=float, default=50.0, help="appends a second (default 50)")
    parser.add_argument("--clients", type=int, default=6, help="clients of the load (default 6)")
    parser.add_argument("--port", type=int, default=PAGE_PORT, help=f"port of the page; 0: any (default {PAGE_PORT})")
    arguments = parser.parse_args()
    stopping = threading.Event()

    def stop(_number: int, _frame: object) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()

    try:
        with patroni_cluster(arguments.folder, keep=arguments.keep, say=say) as cluster:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, stop)
            code = rehearse(cluster, arguments, stopping)
            say("ending")
    except KeyboardInterrupt:
        return 130
    except (ProgramsMissing, OSError) as error:
        say(f"error: {error}")
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
