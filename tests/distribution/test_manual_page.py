"""The manual page that the wheel installs: as the program's help is, and sound."""

import re
import shutil

import pytest

from docs._generate.manual_page import PAGE, manual_page
from docs._generate.program import verbs
from tests.distribution.checkers import said


def test_it_says_what_the_program_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == manual_page(), "run: python -m docs._generate.manual_page"


def test_it_has_every_verb_and_every_option() -> None:
    text = PAGE.read_text(encoding="utf-8").replace(r"\-", "-")
    sections = {each.partition("\n")[0]: each for each in re.split(r"^\.Ss ", text, flags=re.MULTILINE)[1:]}
    assert sections.keys() == {verb.name.removeprefix("tallystick ") for verb in verbs()}
    common = text.partition("\n.Sh VERBS")[0]
    for verb in verbs():
        section = sections[verb.name.removeprefix("tallystick ")]
        hidden = {name for each in verb.command.params if each.hidden for name in each.opts}
        missing = [name for name in verb.options if name not in hidden and rf"\fB{name}" not in section + common]
        assert not missing, f"{verb.name}: {missing}"


@pytest.mark.slow
def test_mandoc_finds_nothing() -> None:
    mandoc = shutil.which("mandoc")
    if mandoc is None:
        pytest.skip("mandoc is not installed: apt-get install mandoc")
    assert said(mandoc, "-T", "lint", PAGE) == ""
