"""The parts of the tests: `make test` runs the gate, `make test-slow PART=NAME` one part.

The gate is every test that is not marked `slow`: it starts no process, opens no socket, never sleeps, and takes half a
second at most. A test that needs one of these is marked `slow` and is in the part of its file.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.paths import ROOT

GATE = "gate"
"""The name of what is in no part: what `make test` runs."""


class Part(NamedTuple):
    """What a part shows, and how many minutes it may take on two quiet cores."""

    shows: str
    minutes: float


PARTS: Mapping[str, Part] = {
    "browser": Part("web pages in a real Chromium, and their HTML by axe and html-validate", 10),
    "commands": Part("commands beside a running server, and the same answer from both", 6),
    "contract": Part("the description of the HTTP interface, recorded answers, and others' verifiers", 3),
    "faults": Part("kills, full and lying disks, power loss, jumping clocks", 4),
    "laws": Part("every property-based test at its full number of examples", 8),
    "manual": Part("the manual: it builds, and its commands run", 6),
    "memory": Part("peak memory, many files, and the benchmarks at a small scale", 3),
    "packages": Part("what is installed from package registries: the wheel, SDKs, generators of clients", 12),
    "postgres": Part("the log on PostgreSQL, its faults, and a cluster", 12),
    "processes": Part("commands as processes: signals, terminals, streams, kills and resuming", 14),
    "quarantine": Part("tests that failed without a cause in the code, until they are mended", 5),
    "simulations": Part("verdicts on simulated agents: how often they are surely wrong, and how soon right", 12),
    "sockets": Part("a server as a process: connections, limits, TLS, feeds, clients", 6),
    "statistics": Part("simulations of the statistics, and their comparison with other libraries", 10),
    "webhooks": Part("deliveries of webhooks and alerts to receivers that fail", 3),
}

OWNERS: Mapping[str, str] = {
    "tests/api/cli": "processes",
    "tests/api/cli/test_capture_alerts.py": "webhooks",
    "tests/api/cli/test_ledger_verbs.py": "postgres",
    "tests/api/cli/test_move.py": "postgres",
    "tests/api/cli/test_one_ledger.py": "commands",
    "tests/api/cli/test_place.py": "postgres",
    "tests/api/cli/test_read_only.py": "commands",
    "tests/api/cli/test_server.py": "commands",
    "tests/api/cli/test_webhook.py": "webhooks",
    "tests/api/cli/test_width.py": "commands",
    "tests/api/cstp": "sockets",
    "tests/api/export": "processes",
    "tests/api/guardrails": "commands",
    "tests/api/http": "sockets",
    "tests/api/http/test_alerts.py": "webhooks",
    "tests/api/http/test_both_logs.py": "postgres",
    "tests/api/http/test_guardrail_webhooks.py": "webhooks",
    "tests/api/http/test_schemathesis.py": "contract",
    "tests/api/http/test_tiles_large.py": "contract",
    "tests/api/http/test_two_nodes.py": "postgres",
    "tests/api/http/test_webhook_hours.py": "webhooks",
    "tests/api/http/test_webhooks.py": "webhooks",
    "tests/api/importers": "processes",
    "tests/api/mcp": "sockets",
    "tests/api/otlp": "sockets",
    "tests/api/pages": "browser",
    "tests/api/pytest_plugin": "processes",
    "tests/api/reports": "processes",
    "tests/api/search": "sockets",
    "tests/api/service": "processes",
    "tests/api/service/test_webhook_attempts.py": "webhooks",
    "tests/api/service/test_webhook_position.py": "webhooks",
    "tests/api/test_both_logs.py": "postgres",
    "tests/api/test_nodes_on_postgresql.py": "postgres",
    "tests/api/verify": "commands",
    "tests/cluster": "postgres",
    "tests/distribution": "packages",
    "tests/documents": "manual",
    "tests/events": "laws",
    "tests/examples": "packages",
    "tests/faults": "faults",
    "tests/faults/patroni": "postgres",
    "tests/faults/postgres": "postgres",
    "tests/fuzz": "laws",
    "tests/hostile": "sockets",
    "tests/instruments": "processes",
    "tests/ledger": "processes",
    "tests/ledger/contract": "postgres",
    "tests/ledger/postgres": "postgres",
    "tests/projections": "statistics",
    "tests/recorded": "contract",
    "tests/sdks": "packages",
    "tests/simulations": "simulations",
    "tests/support": "postgres",
    "tests/tallystick": "sockets",
    "tests/tallystick/test_documents.py": "manual",
    "tests/tallystick/test_several_servers.py": "postgres",
    "tests/test_benchmarks.py": "memory",
    "tests/test_docs.py": "manual",
    "tests/test_scale.py": "memory",
    "tests/test_wheel.py": "packages",
}
"""The part of each folder or file; the longest path that matches counts."""

QUARANTINE = ROOT / "tests" / "quarantine.toml"
QUARANTINED_MAX = 20


class Quarantined(NamedTuple):
    """A test that failed and passed on the same commit: why, as far as it is known, and since when."""

    test: str
    cause: str
    since: str


def quarantined() -> list[Quarantined]:
    """Return the tests in quarantine."""
    rows = tomllib.loads(QUARANTINE.read_text(encoding="utf-8")).get("quarantined", [])
    return [Quarantined(row["test"], row["cause"], row["since"].isoformat()) for row in rows]


def part_of(path: Path) -> str | None:
    """Return the part that owns a file of tests; None if none does."""
    relative = path.relative_to(ROOT)
    for owned in (relative, *relative.parents):
        if (part := OWNERS.get(str(owned))) is not None:
            return part
    return None


def files_of(part: str) -> list[str]:
    """Return the folders and files whose tests a part may have: those that it owns."""
    return sorted(path for path, owner in OWNERS.items() if owner == part)
