"""Tables of the reference: limits, errors, environment variables."""

import inspect

from docs._generate import command_line, docstrings
from docs._generate.markdown import code, prose, table
from docs._generate.program import ERROR_TABLE, limits, problem_name


def limits_table() -> str:
    """Return every limit: its name, its value, and what it bounds."""
    docs = docstrings.of_module(limits)
    rows = ([code(name), f"{getattr(limits, name):,}", prose(text)] for name, text in docs.items())
    return table(["limit", "value", "what it bounds"], rows)


def errors() -> str:
    """Return every error: the end of its problem's type, its title, its codes, and what it means."""
    rows = (
        [
            code(problem_name(error.__name__)), answer.title, str(answer.status), str(answer.rpc), str(answer.exit),
            prose(inspect.getdoc(error) or ""),
        ]
        for error, answer in sorted(ERROR_TABLE.items(), key=lambda row: (row[1].status, row[0].__name__))
    )  # fmt: skip
    return table(["problem", "title", "HTTP", "JSON-RPC", "exit", "what it means"], rows)


def variables() -> str:
    """Return every environment variable that an option reads."""
    rows = ([code(name), prose(text)] for name, text in sorted(command_line.variables().items()))
    return table(["variable", "what it sets"], rows)
