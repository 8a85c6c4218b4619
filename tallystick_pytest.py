"""What every pytest session loads of Tallystick where it is installed: a few options, and nothing else.

This module stands beside the packages, under a name that is nobody else's. A project may have an `api` or an `events`
of its own, which must stay what its tests import: ours are loaded when a session asks for scenarios, and not before.
"""

import pytest

_OPTIONS = (
    ("--tallystick-fixtures", "DIR", "The scenarios below this folder are tests; alone, where no other path is given."),
    ("--tallystick-agent", "CMD", "Who answers, on stdin and stdout; without it what was captured is scored."),
    ("--tallystick-agent-name", "NAME", "Who is evaluated; command:PROGRAM without it."),
    ("--tallystick-agent-version", "V", "Its version."),
    ("--tallystick-name", "NAME", "The suite's name; its folder's without it."),
    ("--tallystick-ledger", "FILE", "Record the run in this ledger; without this and the next, nothing is recorded."),
    ("--tallystick-url", "URL", "Record the run through this server, with the token in TALLYSTICK_TOKEN."),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, all of which begin with --tallystick."""
    group = parser.getgroup("tallystick", "incidents as tests of an agent (Tallystick)")
    for name, metavar, help_text in _OPTIONS:
        group.addoption(name, metavar=metavar, help=help_text)
    help_text = "How often each scenario is asked; 1 without it."
    group.addoption("--tallystick-attempts", metavar="N", type=int, default=1, help=help_text)
    help_text = "Seconds for one answer; 600 without it."
    group.addoption("--tallystick-timeout", metavar="S", type=float, default=600.0, help=help_text)
    help_text = "Tell the agent so, whatever test_config says."
    group.addoption("--tallystick-enable-llm", choices=["yes", "no"], help=help_text)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the scenarios where they are asked for. Errors: pytest.UsageError."""
    given = [name for name, *_ in _OPTIONS if config.getoption(name) is not None]
    if "--tallystick-fixtures" not in given:
        if given:
            raise pytest.UsageError(f"{given[0]} is for scenarios: name their folder with --tallystick-fixtures.")
        return
    try:
        from api.pytest_plugin.plugin import Scenarios  # noqa: PLC0415 - nobody who asks for no scenarios loads our packages
    except ModuleNotFoundError as error:
        raise pytest.UsageError(
            f"Tallystick's own packages are hidden here ({error}): run `pytest` and not `python -m pytest`, "
            "or run it in another folder."
        ) from None
    config.pluginmanager.register(Scenarios(config), "tallystick-scenarios")
