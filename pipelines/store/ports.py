"""Free ports for the embedded store, which needs ten in a row."""

import random
import socket

LOOPBACK = "127.0.0.1"
COUNT = 10
# Below the ports that Linux (32768) and macOS (49152) hand to outgoing connections.
FIRST, LAST = 20000, 32000


def taken_ports(start: int) -> list[int]:
    """Return those of the ten ports from `start` on that somebody listens on or that may not be bound."""
    return [port for port in range(start, start + COUNT) if not _is_free(port)]


def find_block(preferred: int = 0) -> int:
    """Return the first port of ten free ones: `preferred` if it is, else a random block.

    Raises OSError when a thousand blocks are taken. Another process may take a port before it is used.
    """
    if preferred and not taken_ports(preferred):
        return preferred
    starts = range(FIRST, LAST, COUNT)
    for start in random.sample(starts, min(1000, len(starts))):
        if not taken_ports(start):
            return start
    raise OSError(f"no {COUNT} consecutive ports are free between {FIRST} and {LAST}")


def answers(port: int) -> bool:
    """Tell whether something accepts connections on the port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((LOOPBACK, port)) == 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: a port whose last connections are still closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
