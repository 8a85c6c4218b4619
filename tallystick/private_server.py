"""The process that `local` starts: a server that stops when the program that started it is gone.

`python -m tallystick.private_server ARGUMENTS` is `python -m tallystick ARGUMENTS` with its standard input watched. The
program holds the other end of that pipe; however the program ends, even by kill -9, the pipe closes, and the server
stops as it does on Ctrl-C.
"""

import os
import runpy
import signal
import threading


def main() -> None:
    """Run the command line until it ends, or until standard input is closed."""
    threading.Thread(target=_stop_with_the_program, daemon=True).start()
    runpy.run_module("tallystick", run_name="__main__", alter_sys=True)


def _stop_with_the_program() -> None:
    while os.read(0, 4096):  # nothing is ever written to it
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
