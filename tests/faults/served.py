"""The command as it is, but that the write-ahead log is moved into the file after some pages: often, where few."""

import os

import ledger.sqlite.log
from tallystick.__main__ import main

WAL_PAGES = "WAL_PAGES"
"""The environment variable that says after how many."""

if __name__ == "__main__":
    ledger.sqlite.log.CHECKPOINT_PAGES = int(os.environ[WAL_PAGES])
    main()
