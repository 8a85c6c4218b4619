"""The state of a cluster, asked again and again in the background: who leads, what lags, which server is ready."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import msgspec

from tests.cluster.layout import PATRONI_PORT
from tests.cluster.load import Load, LoadState
from tests.cluster.node import ClusterNode
from tests.cluster.patroni_cluster import Member, PatroniCluster

EVERY_S = 0.5
ANSWER_S = 1.5
"""Seconds that a server gets to say whether it is ready."""


class NodeState(msgspec.Struct, frozen=True):
    """A node: its server of PostgreSQL as etcd has it, and its server of Tallystick.

    `answers`: its Patroni answers now; etcd has the last state of a lost node until its `ttl` has passed. `reason` says
    why the server is not ready, `position` is the newest one that it knows.
    """

    name: str
    database: Member | None
    answers: bool
    url: str
    ready: bool
    reason: str | None
    position: int | None


class ClusterStatus(msgspec.Struct, frozen=True):
    """The state of a cluster at a moment; `leader` is None if no node that answers leads."""

    at: datetime
    leader: str | None
    nodes: list[NodeState]
    load: LoadState


class _Readiness(msgspec.Struct):
    head: int
    reason: str | None = None


class StatusBoard:
    """Keeps the newest state."""

    def __init__(self, cluster: PatroniCluster, load: Load) -> None:
        self._cluster, self._load = cluster, load
        self._pool = ThreadPoolExecutor(2 * len(cluster.nodes) + 1)
        self._http = httpx.Client(timeout=ANSWER_S)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="status", daemon=True)
        self._seen = self._ask()
        self._thread.start()

    def newest(self) -> ClusterStatus:
        """The newest state, with the load as it is now."""
        return msgspec.structs.replace(self._seen, load=self._load.state())

    def stop(self) -> None:
        """Ask no more."""
        self._stopping.set()
        self._thread.join()
        self._pool.shutdown()
        self._http.close()

    def _watch(self) -> None:
        while not self._stopping.wait(EVERY_S):
            self._seen = self._ask()

    def _ask(self) -> ClusterStatus:
        members = self._pool.submit(self._cluster.members)
        patroni = self._pool.map(self._answers, self._cluster.nodes)
        servers = self._pool.map(self._ask_server, self._cluster.nodes)
        known = {member.name: member for member in members.result()}
        nodes = [
            NodeState(node.name, known.get(node.name), answers, node.url, *server)
            for node, answers, server in zip(self._cluster.nodes, patroni, servers, strict=True)
        ]
        leaders = [node.name for node in nodes if node.database and node.database.leads and node.answers]
        return ClusterStatus(
            at=datetime.now(UTC),
            leader=leaders[0] if leaders else None,
            nodes=nodes,
            load=self._load.state(),
        )

    def _answers(self, node: ClusterNode) -> bool:
        try:
            return self._http.get(f"{self._cluster.layout.url(node.name, PATRONI_PORT)}/liveness").is_success
        except httpx.HTTPError:
            return False

    def _ask_server(self, node: ClusterNode) -> tuple[bool, str | None, int | None]:
        try:
            answer = self._http.get(f"{node.url}/readyz")
            readiness = msgspec.json.decode(answer.content, type=_Readiness)
        except httpx.TimeoutException:
            return False, f"it does not answer within {ANSWER_S} s", None
        except (httpx.HTTPError, msgspec.DecodeError) as error:
            return False, str(error) or type(error).__name__, None
        return answer.status_code == 200, readiness.reason, readiness.head
