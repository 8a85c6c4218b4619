"""The process that `local` starts: a server that stops when the program that started it ends.

`python -m tallystick.local_server_process ARGUMENTS` runs `python -m tallystick ARGUMENTS` and watches its standard
input, a pipe from the program. When the program ends, even by kill -9, the pipe closes, and the server stops as on
SIGTERM.
"""

import os
import runpy
import signal
import threading


def main() -> None:
    """Run the command line until it ends, or until standard input is closed."""
    threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
    runpy.run_module("tallystick", run_name="__main__", alter_sys=True)


def _stop_at_end_of_input() -> None:
    while os.read(0, 4096):  # the program never writes to it
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
