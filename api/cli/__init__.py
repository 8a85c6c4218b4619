"""The command line: a module a verb, and how answers are printed."""
