"""Free ports for the embedded store, which needs nine in a row and one far above them."""

import random
import socket

LOOPBACK = "127.0.0.1"
IN_A_ROW = 9
# SeaweedFS' maintenance worker looks for the admin server's gRPC 10000 above its HTTP port, come what may.
ADMIN_GRPC_OFFSET = 10000 + IN_A_ROW - 1
# Both ranges lie below the ports that Linux (32768) and macOS (49152) hand to outgoing connections.
FIRST, LAST = 15000, 22500
HIGHEST = 65535 - ADMIN_GRPC_OFFSET


def block(start: int) -> list[int]:
    """Return the ten ports of a store whose S3 port is `start`."""
    return [*range(start, start + IN_A_ROW), start + ADMIN_GRPC_OFFSET]


def taken_ports(start: int) -> list[int]:
    """Return those of the ten ports that somebody listens on or that may not be bound."""
    return [port for port in block(start) if not _is_free(port)]


def find_block(preferred: int = 0) -> int:
    """Return the first port of a free block: `preferred` if it is, else a random one.

    Raises OSError when hundreds of blocks are taken. Another process may take a port before it is used.
    """
    if preferred and not taken_ports(preferred):
        return preferred
    starts = range(FIRST, LAST, IN_A_ROW)
    for start in random.sample(starts, len(starts)):
        if not taken_ports(start):
            return start
    raise OSError(f"no {IN_A_ROW} consecutive ports are free between {FIRST} and {LAST}")


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
