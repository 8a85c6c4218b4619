"""observe: record what tests of decisions look at."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import show, use_store
from api.cli.options import argument, option

if TYPE_CHECKING:
    from api.importers.observe.observers import Observation
    from api.service.store import EventStore

Names = Annotated[list[str] | None, argument("Names in the file; all without one.", "[NAME...]")]
Config = Annotated[Path, option("The file in which commands and addresses are registered.", "FILE", "--config")]
DEFAULT = Path("observers.toml")


@verb(server=True)
def command(target: LedgerTarget, names: Names = None, *, config: Config = DEFAULT) -> None:
    """Run registered commands, and record how each ended.

    They are registered in a file: a table `commands.NAME` with `run = ["PROGRAM", "ARGUMENT"]`, and perhaps `folder`
    and `timeout_s`. No shell reads them. A test `command.exit:1d:subject=command:NAME` looks at the first run after its
    window. Recorded are exit code, duration, and digests of what is printed. Exit code 1: one could not be run, or did
    not end.

    Example: tallystick observe command smoke
    """
    from api.importers.observe.observers import observe_commands, record_observations
    from api.importers.observe.registered import read_registered

    registered = read_registered(config)

    async def observe(store: "EventStore") -> list["Observation"]:
        seen = await observe_commands(names or [], registered.commands, config.resolve().parent)
        return await record_observations(seen, store)

    _show(target, use_store(target, observe))


@verb(server=True)
def http(target: LedgerTarget, names: Names = None, *, config: Config = DEFAULT) -> None:
    """Ask registered addresses, and record the status of each answer.

    They are registered in a file: a table `addresses.NAME` with `url`, and perhaps `timeout_s`. Redirects are not
    followed, and addresses of private networks are asked only with `allow_private = true`. A test
    `http.status:7d:subject=http:NAME` looks at every sample of its window, so run this often. Exit code 1: one gave no
    answer.

    Example: tallystick observe http home
    """
    from api.importers.observe.observers import observe_addresses, record_observations
    from api.importers.observe.registered import read_registered

    registered = read_registered(config)

    async def observe(store: "EventStore") -> list["Observation"]:
        return await record_observations(await observe_addresses(names or [], registered.addresses), store)

    _show(target, use_store(target, observe))


@verb(server=True)
def junit(
    target: LedgerTarget,
    files: Annotated[list[Path], argument("Files of test results.", "FILE...")],
    *,
    name: Annotated[str, option("The name of the test run, in `junit:NAME`.", "NAME")],
    only: Annotated[list[str] | None, option("Only this test (CLASS.NAME); may be repeated.", "TEST", "--test")] = None,
) -> None:
    """Record the results of test runs, from files in the form of JUnit.

    A test `junit.passed:1d:subject=junit:NAME` looks at the last run of its window. Recorded are digests of the names
    of tests, by result, up to 256 of each: with many tests, name those that matter with --test. A test that failed and
    passed is flaky, and neither.

    Example: tallystick observe junit results.xml --name unit
    """
    from datetime import UTC, datetime

    from api.importers.observe.observers import observe_results, record_observations

    seen = observe_results(files, name, only or [], datetime.now(UTC))
    _show(target, use_store(target, lambda store: record_observations(seen, store)))


@verb(server=True)
def alertmanager(
    target: LedgerTarget,
    address: Annotated[str, argument("The address of an Alertmanager.", "ADDRESS")],
    *,
    name: Annotated[str, option("The name of the source, in `source=NAME`.", "NAME")] = "main",
) -> None:
    """Record which alerts fire, also those that are silenced or inhibited.

    A test `alert.silent:24h:subject=alert:NAME` needs this at least every 10 minutes, and an alert that always fires:
    `Watchdog`, or `heartbeat=NAME`. An alert that fires and ends between two looks is not seen; Alertmanager's webhook
    shows it: POST /observe/alertmanager.

    Example: tallystick observe alertmanager http://127.0.0.1:9093
    """
    from api.importers.observe.observers import observe_alerts, record_observations

    async def observe(store: "EventStore") -> list["Observation"]:
        return await record_observations(await observe_alerts(address, name), store)

    _show(target, use_store(target, observe))


def _show(target: LedgerTarget, observed: list["Observation"]) -> None:
    from api.cli.render.decision_tests import print_observations

    show(target, observed, print_observations, code=1 if any(one.is_error for one in observed) else 0)
