"""Refactorings of the originals as models write them. Local names are quoted, so that a test can rename them."""

import re
from collections.abc import Mapping

MARKED = re.compile("«(\\w+)»")

SPLIT_GO = """\
package tally

import (
	"errors"
	"fmt"
	"strings"
)

// ErrEmpty says that nothing but zeros was given.
var ErrEmpty = errors.New("empty result")

const separator = ","

// Summarise adds up absolute values and describes them.
// It returns an error when there is nothing to add up.
func Summarise(values []int, label string, verbose bool) (int, string, error) {
	«total» := sumOfAbsolutes(values)
	if «total» == 0 {
		return 0, "", fmt.Errorf("%w for %s", ErrEmpty, label) // the only failure
	}
	var «text» string
	if verbose {
		«text» = describe(values)
	}
	/* a label comes first */
	if label != "" {
		«text» = label + ": " + «text»
	}
	return «total», «text», nil
}

func sumOfAbsolutes(values []int) int {
	«sum» := 0
	for _, «value» := range values {
		// «sum» += value
		switch {
		case «value» > 0:
			«sum» += «value»
		default:
			«sum» -= «value»
		}
	}
	return «sum»
}

func describe(values []int) string {
	var «parts» strings.Builder
	«write» := func(«format» string, «number» int) { fmt.Fprintf(&«parts», «format»+separator, «number») }
	for «at», «one» := range values {
		if «one» == 0 {
			continue
		}
		if «one» > 0 {
			«write»("%d", values[«at»])
		} else {
			«write»("(%d)", «one»)
		}
	}
	return «parts».String()
}

// unused is not called by anybody.
func unused(a int) int {
	// and says so
	for range 3 {
		a++
	}
	return a
}
"""
"""6 renames, 2 splits, 4 comments, 6 structural kinds; one function unreached, one closure."""

NAMED_GO = """\
// Total gives sum and text.
func Total(xs []int, name string, detail bool) («sum» int, «out» string, err error) {
	for _, «x» := range xs {
		«size» := «x»
		if «size» < 0 {
			«size» = -«size»
		}
		«sum» += «size»
		if detail && «x» != 0 {
			«out» += mark(«x») // one after the other
		}
	}
	if «sum» == 0 {
		err = fmt.Errorf("empty result for %s", name)
		return
	}
	if name != "" {
		«out» = name + ": " + «out»
	}
	return
}

func mark(x int) string {
	if x > 0 {
		return fmt.Sprintf("%d,", x)
	}
	return fmt.Sprintf("(%d),", x)
}
"""
"""6 renames, 1 split, 2 comments, 3 structural kinds (range, named results, guard)."""

SPLIT_PYTHON = '''\
"""Adding up, with words."""

from dataclasses import dataclass

SEPARATOR = ","


class EmptyResult(ValueError):
    """Nothing but zeros was given."""


@dataclass(frozen=True)
class Summary:
    total: int
    text: str


def summarise(values: list[int], label: str, verbose: bool) -> Summary:
    """Add up absolute values and describe them.

    Raises EmptyResult when there is nothing to add up, and returns a Summary.
    """
    «total» = sum(abs(«value») for «value» in values)
    if «total» == 0:
        raise EmptyResult(f"empty result for {label}")  # the only failure
    «text» = describe(values) if verbose else ""
    # if label:
    #     text = label + text
    if label:
        «text» = f"{label}: {«text»}"
    return Summary(total=«total», text=«text»)


def describe(values: list[int]) -> str:
    «parts» = []
    for «number» in values:
        # zeros are left out
        if «number» == 0:
            continue
        match «number» > 0:
            case True:
                «parts».append(str(«number»))
            case _:
                «parts».append(f"({«number»})")
    «closed» = lambda «part»: «part» + SEPARATOR
    return "".join(map(«closed», «parts»))


def test_summarise():
    # never called from here
    assert summarise([1, -2], "", False).total == 3
'''
"""6 renames, 1 split, 5 comments, 7 structural kinds; one function unreached, one closure."""

CLASS_PYTHON = '''\
class Tally:
    """Sum and text."""

    def __init__(self, separator=","):
        self.separator = separator

    def run(self, numbers, title, wordy):
        «amount», «words» = 0, ""
        for «place», «n» in enumerate(numbers):
            «amount» += abs(«n»)
            if wordy and «n»:
                «words» += self.mark(«n»)
        if not «amount»:
            raise ValueError("empty result for " + title)
        if title:
            «words» = title + ": " + «words»
        return «amount», «words»

    def mark(self, n):
        return (str(n) if n > 0 else "(" + str(n) + ")") + self.separator
'''
"""6 renames, 2 splits (mark and the constructor), 1 comment, 3 structural kinds (range, guard, type)."""


def plain(text: str) -> str:
    """The candidate as it was written."""
    return MARKED.sub(r"\1", text)


def locals_of(text: str) -> list[str]:
    """The names between quotes, each once."""
    return sorted(set(MARKED.findall(text)))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The candidate with other names for its locals."""
    return MARKED.sub(lambda found: names[found[1]], text)
