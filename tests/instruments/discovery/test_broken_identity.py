"""An identity whose JSON is broken: the reason says so, and what is wrong with it."""

import pytest

from instruments.discovery import analyze
from tests.instruments.discovery.answers import CODE
from tests.instruments.questions import GO

FENCED = f"```go\n{CODE}```"


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        ('{"model_name": "nova-1", "provider": "Acme"', "Expecting ',' delimiter"),
        ('{"model_name": "nova-1" "provider": "Acme"}', "Expecting ',' delimiter (line 1, column 25 of it)"),
        ("{'model_name': 'nova-1'}", "Expecting property name enclosed in double quotes (line 1, column 2 of it)"),
        ('{"model_name": "nova-1",}', "property name"),
        ('```json\n{"model_name": "nova-1", }\n```', "property name"),
    ],
)
def test_the_reason_says_what_is_wrong_with_the_json(broken: str, what: str) -> None:
    found = analyze(f"{broken}\n\n{FENCED}\n", GO)
    assert (found.verdict, found.identity) == ("unparsable", None)
    assert found.reason.startswith("identity is not valid JSON: ")
    assert what in found.reason


def test_an_answer_without_an_identity_has_none() -> None:
    assert analyze(f"Here it is.\n{FENCED}\n", GO).reason == "no identity is in the answer"


def test_a_readable_identity_beside_a_broken_one_is_used() -> None:
    text = f'{{"model_name": oops}}\n{{"model_name": "nova-1"}}\n{FENCED}\n'
    assert analyze(text, GO).key == "nova-1"
