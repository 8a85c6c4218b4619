"""The command line: `commands` has a module for each verb, `render` prints their answers."""
