"""The command line: one module for each verb, and modules that print answers."""
