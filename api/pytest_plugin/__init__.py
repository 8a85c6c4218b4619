"""The worker process of the pytest plugin: it scores attempts at scenarios and records a run."""
