"""The options that Tallystick adds to pytest, to run scenarios as tests.

Every pytest session loads this module, in every project that has Tallystick installed. So it imports nothing else until
a session asks for scenarios, and never a package of `tallystick/_app/`, because the tested project may have its own
`api` or `events`. Only a worker process (`tallystick/_scenarios/`) imports those.
"""

import pytest

_OPTIONS = (
    ("--tallystick-fixtures", "DIR", "Run the scenarios below this folder as tests; only these, if no path is given."),
    ("--tallystick-agent", "CMD", "The agent's command. Without it the captured analyses are scored."),
    ("--tallystick-agent-name", "NAME", "The agent's name; default: command:PROGRAM."),
    ("--tallystick-agent-version", "V", "The agent's version."),
    ("--tallystick-model", "NAME", "The language model that answers, as you claim."),
    ("--tallystick-name", "NAME", "The suite's name; default: the name of its folder."),
    (
        "--tallystick-ledger",
        "FILE",
        "Record the run in this ledger; without it or --tallystick-url nothing is recorded.",
    ),
    ("--tallystick-url", "URL", "Record the run through this server, with the token in TALLYSTICK_TOKEN."),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, all of which begin with --tallystick."""
    group = parser.getgroup("tallystick", "incidents as tests of an agent (Tallystick)")
    for name, metavar, help_text in _OPTIONS:
        group.addoption(name, metavar=metavar, help=help_text)
    help_text = "Attempts at each scenario; default: 1."
    group.addoption("--tallystick-attempts", metavar="N", type=int, default=1, help=help_text)
    help_text = "Seconds that the agent has for one answer; default: 600."
    group.addoption("--tallystick-timeout", metavar="S", type=float, default=600.0, help=help_text)
    help_text = "Tell the agent to use a language model or not, whatever a scenario's test_config says."
    group.addoption("--tallystick-enable-llm", choices=["yes", "no"], help=help_text)
    help_text = "Do not store the files of the suite in the ledger; an old version can then not be run again from it."
    group.addoption("--tallystick-no-keep-files", action="store_true", help=help_text)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the scenarios if the session asks for them. Errors: pytest.UsageError."""
    given = [name for name, *_ in _OPTIONS if config.getoption(name) is not None]
    if "--tallystick-fixtures" in given:
        from tallystick._pytest_plugin.session import ScenarioSession  # noqa: PLC0415 - only now is it needed

        config.pluginmanager.register(ScenarioSession(config), "tallystick-scenarios")
    elif given:
        raise pytest.UsageError(f"{given[0]} is for scenarios: name their folder with --tallystick-fixtures.")
