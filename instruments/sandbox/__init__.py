"""A sandbox for untrusted programs: Linux namespaces, a filter of system calls, and limits.

`process` starts the child and is the only part that other packages use, with `go_build` and `network_guard`, which runs
an agent in a network namespace. The modules that a child imports (`child`, `network_child` and below) use the standard
library alone: it runs without installed packages.
"""
