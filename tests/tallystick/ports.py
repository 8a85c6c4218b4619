"""A port for a server that is to come back at the same address."""

import random
import socket


def free_port() -> int:
    """A port that is free, and that no outgoing connection takes while the server is away."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as listening:
            try:
                listening.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
