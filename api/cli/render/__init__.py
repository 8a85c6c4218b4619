"""Tables and texts of the command line: a module for each kind of answer."""
