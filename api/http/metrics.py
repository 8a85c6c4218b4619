"""Prometheus metrics of the HTTP server."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper limits of the buckets of answer times."""


class LimitUse(NamedTuple):
    """A limit of the server and its present use; of a limit of each token or address, that of the busiest one."""

    name: str
    limit: float
    use: float


class Metrics(Collector):
    """The metrics of one process, served at `/metrics`.

    It counts requests in plain dictionaries, and converts them to Prometheus families when they are read. The library's
    own counters take locks for each request.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self._answers: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self._limits: list[tuple[str, float, Callable[[], float]]] = []

    def add_gauge(self, name: str, description: str, read: Callable[[], float]) -> None:
        """Add a metric whose value is computed when it is read."""
        Gauge(name, description, registry=self.registry).set_function(read)

    def add_limit(self, name: str, limit: float, read_use: Callable[[], float]) -> None:
        """Add a limit of the server: its value, and its present use, which is computed when it is read."""
        self._limits.append((name, limit, read_use))

    def limit_uses(self) -> list[LimitUse]:
        """Return every limit with its present use."""
        return [LimitUse(name, limit, read_use()) for name, limit, read_use in self._limits]

    def record(self, endpoint: str, method: str, status: int, elapsed_s: float) -> None:
        """Count one answer."""
        self._answers[endpoint, method, status] += 1
        self._seconds[endpoint] += elapsed_s  # type: ignore[assignment]
        buckets = self._buckets.get(endpoint)
        if buckets is None:
            buckets = self._buckets[endpoint] = [0] * (len(_BUCKETS_S) + 1)
        buckets[bisect_left(_BUCKETS_S, elapsed_s)] += 1

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "tallystick_http_requests", "Requests answered.", labels=["endpoint", "method", "status"]
        )
        for (endpoint, method, status), count in self._answers.items():
            requests.add_metric([endpoint, method, str(status)], count)
        yield requests
        refusals = CounterMetricFamily("tallystick_http_refusals", "Requests refused.", labels=["reason"])
        for reason, count in self.refusals.items():
            refusals.add_metric([reason], count)
        yield refusals
        seconds = HistogramMetricFamily(
            "tallystick_http_request_seconds", "Time to the end of the answer.", labels=["endpoint"]
        )
        for endpoint, buckets in self._buckets.items():
            bounds = [*map(str, _BUCKETS_S), "+Inf"]
            counts = list(zip(bounds, accumulate(buckets), strict=True))
            seconds.add_metric([endpoint], counts, self._seconds[endpoint])
        yield seconds
        limits = GaugeMetricFamily("tallystick_limit", "The limit; 0: none.", labels=["limit"])
        uses = GaugeMetricFamily("tallystick_limit_use", "The present use; of the busiest token.", labels=["limit"])
        for name, limit, use in self.limit_uses():
            limits.add_metric([name], limit)
            uses.add_metric([name], use)
        yield limits
        yield uses
