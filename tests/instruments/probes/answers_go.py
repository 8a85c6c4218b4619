# ruff: noqa: E501 - programs, a line each
"""Answers to the refactor probe in Go: right ones of many styles, and ones that deserve nothing."""

from instruments.probes.refactor.scorer import GO_ORIGINAL as M
from tests.instruments.probes.candidates import NAMED_GO, SPLIT_GO, plain

MINIMAL = """\
func d(a []int, b string, c bool) (int, string, error) {
	r := 0
	s := ""
	for _, v := range a {
		if v > 0 {
			r += v
			if c {
				s += fmt.Sprintf("%d,", v)
			}
		} else if v < 0 {
			r -= v
			if c {
				s += fmt.Sprintf("(%d),", v)
			}
		}
	}
	if r == 0 {
		return 0, "", fmt.Errorf("empty result for %s", b)
	}
	if b != "" {
		s = b + ": " + s
	}
	return r, s, nil
}
"""

RIGHT = {
    "minimal": MINIMAL,
    "one loop over values": M.replace("for i := 0; i < len(a); i++ {", "for _, v := range a {").replace("a[i]", "v"),
    "all in one file, with names": plain(SPLIT_GO),
    "named results": plain(NAMED_GO),
    "with a main function and a package": 'package main\n\nimport "fmt"\n\n'
    + MINIMAL.replace("func d(", "func summarise(")
    + '\nfunc main() {\n\tfmt.Println(summarise([]int{1, -2}, "x", true))\n}\n',
    "a method and an error of its own": """\
package totals

import (
	"strconv"
	"strings"
)

// EmptyError says that nothing but zeros was given, and under which label.
type EmptyError struct{ Label string }

func (e *EmptyError) Error() string { return "empty result for " + e.Label }

// Summariser adds magnitudes. Accountants put losses in parentheses.
type Summariser struct{}

func (Summariser) Summarise(values []int, label string, verbose bool) (int, string, error) {
	total := 0
	var text strings.Builder
	for _, value := range values {
		total += magnitude(value)
		if verbose {
			text.WriteString(mark(value))
		}
	}
	if total == 0 {
		return 0, "", &EmptyError{label}
	}
	if label == "" {
		return total, text.String(), nil
	}
	return total, label + ": " + text.String(), nil
}

func magnitude(value int) int {
	if value < 0 {
		return -value
	}
	return value
}

func mark(value int) string {
	switch {
	case value > 0:
		return strconv.Itoa(value) + ","
	case value < 0:
		return "(" + strconv.Itoa(value) + "),"
	}
	return ""
}
""",
}

GUTTED = {
    "nothing": "// Summarise adds up magnitudes.\nfunc Summarise(values []int, label string, verbose bool) (int, string, error) {\n"
    '\treturn 0, "", nil\n}\n',
    "always an error": 'func d(a []int, b string, c bool) (int, string, error) {\n\treturn 0, "", fmt.Errorf("empty result for %s", b)\n}\n',
    "fine structure, no work": plain(SPLIT_GO).replace(
        "total := sumOfAbsolutes(values)", "total := sumOfAbsolutes(nil)"
    ),
    "panics": 'func d(a []int, b string, c bool) (int, string, error) {\n\tpanic("later")\n}\n',
}
WRONG = {
    "wrong sign": MINIMAL.replace("r -= v", "r += v"),
    "wrong sign in full": plain(SPLIT_GO).replace("sum -= value\n", "sum += value\n"),
    "another message": MINIMAL.replace("empty result", "no result"),
    "no error": MINIMAL.replace('fmt.Errorf("empty result for %s", b)', "nil"),
    "its argument changed": MINIMAL.replace(
        "\tr := 0\n", "\tr := 0\n\tif len(a) > 1 {\n\t\ta[0], a[1] = a[1], a[0]\n\t}\n"
    ),
    "a text for a format": MINIMAL.replace(
        'fmt.Errorf("empty result for %s", b)', 'fmt.Errorf("empty result for " + b)'
    ),
    "does not compile": MINIMAL.replace("r += v", "r += undefined"),
    "other results": "func d(a []int, b string, c bool) (string, int, error) {\n\treturn b, len(a), nil\n}\n",
}
UNRELATED = {
    "a web handler": """\
package web

import (
	"fmt"
	"net/http"
	"strings"
)

const greeting = "hello"

// Handler answers every request with a greeting.
func Handler(writer http.ResponseWriter, request *http.Request) {
	name := strings.TrimPrefix(request.URL.Path, "/")
	if name == "" {
		http.Error(writer, "who are you", http.StatusBadRequest)
		return
	}
	fmt.Fprint(writer, greet(name))
}

func greet(name string) string { return strings.Join([]string{greeting, name}, " ") }
""",
    "a sort": 'import "sort"\n\nfunc d(a []int, b string, c bool) (int, string, error) {\n\tsort.Ints(a)\n\treturn len(a), b, nil\n}\n',
}
_NO_OPS = """
// normalise gives the canonical representation of readings.
func normalise(values []int) []int { return values }

func validateLabel(label string) string {
	result := label + ""
	return result
}

func logProgress(step int) {
	for range 3 {
		step++
	}
}

func twice(value int) int { return value*1 + 0 }
"""
PADDED = {
    "functions that do nothing": M.replace(
        "\tr := 0\n", "\ta = normalise(a)\n\tb = validateLabel(b)\n\tlogProgress(1)\n\tr := twice(0)\n"
    )
    + _NO_OPS,
    "functions that nothing calls": M + _NO_OPS,
    "functions in dead code": M.replace(
        "\tr := 0\n", "\tif len(a) < 0 {\n\t\ta = normalise(a)\n\t\tlogProgress(1)\n\t}\n\tr := 0\n"
    )
    + _NO_OPS,
    "comments that restate": M.replace("\tr := 0\n", "\t// set r to zero\n\tr := 0 // r is 0\n")
    .replace("\tif r == 0 {\n", "\t// check if r is zero\n\tif r == 0 {\n")
    .replace("\t\treturn r, s, nil\n", "\t\t// return the result\n\t\treturn r, s, nil\n"),
    "prose for comments": M.replace(
        "\tr := 0\n", "\t// the quick brown fox\n\tr := 0 // jumps over lazy dogs\n"
    ).replace("\tif r == 0 {\n", "\t// sphinx of black quartz\n\tif r == 0 {\n"),
    "functions that return literals": M.replace("r := 0", "r := nought()").replace('s := ""', "s := blank(b)")
    + '\nfunc nought() int { return 0 }\n\nfunc blank(_ string) string {\n\ttext := ""\n\treturn text\n}\n',
    "functions that wrap and unwrap": M.replace("\tr := 0\n", "\ta = take(put(a))\n\ta = box(a)[0]\n\tr := 0\n")
    + "\nfunc put(x []int) [][]int { return [][]int{x} }\n"
    + "\nfunc take(x [][]int) []int { return x[0] }\n\nfunc box(x []int) [1][]int { return [1][]int{x} }\n",
    "the original": M,
}
"""These do what the original does, and nothing to make it better."""

BAD = {
    f"{kind}: {name}": answer
    for kind, answers in (("gutted", GUTTED), ("wrong", WRONG), ("unrelated", UNRELATED), ("padded", PADDED))
    for name, answer in answers.items()
}
