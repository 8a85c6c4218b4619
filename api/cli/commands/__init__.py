"""The verbs of the command line, a module a group. Each loads what it needs when it is called: all start fast."""
