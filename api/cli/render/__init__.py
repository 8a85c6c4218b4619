"""Print answers as tables and texts: one module for each kind of answer."""
