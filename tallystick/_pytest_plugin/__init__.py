"""The pytest plugin's part that runs in the tested process, and its messages to a worker process."""
