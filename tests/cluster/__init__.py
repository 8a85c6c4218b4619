"""`make cluster`: a cluster as examples/postgresql has it, on this machine, with a load and a page."""
