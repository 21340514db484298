"""The embedded store's secrets: made once, at random, in a file that only its owner can read."""

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

NAME = "credentials.json"
IDENTITIES = "s3.json"


class CredentialsError(ValueError):
    """The file of credentials cannot be used; the message names it and the fix."""


@dataclass(frozen=True)
class Credentials:
    """Keys of the S3 server, and the key with which its parts sign requests to one another."""

    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    internal_key: str = field(repr=False)


def load_credentials(folder: Path) -> Credentials | None:
    """Return the credentials kept in `folder`, None when there are none yet. Raises CredentialsError."""
    file = folder / NAME
    try:
        return Credentials(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None
    except PermissionError:
        raise CredentialsError(f"{file} belongs to another user; use a DOGFLOW_HOME of your own.") from None
    except (ValueError, TypeError):
        raise CredentialsError(
            f"{file} is damaged. Stop the store (`dogflow store down`) and delete this file; "
            "`dogflow store up` makes new credentials for the same data."
        ) from None


def ensure_credentials(folder: Path) -> Credentials:
    """Return the credentials of `folder`, made when there are none. To be called under the store's lock."""
    found = load_credentials(folder)
    if found is None:
        found = Credentials(
            "dogflow" + secrets.token_hex(8), secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        )
        write_private(folder / NAME, json.dumps(asdict(found)))
    return found


def write_identities(folder: Path, credentials: Credentials) -> Path:
    """Write the server's own list of who may do what; return its path."""
    keys = {"accessKey": credentials.access_key, "secretKey": credentials.secret_key}
    identity = {
        "name": "dogflow",
        "credentials": [keys],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    file = folder / IDENTITIES
    write_private(file, json.dumps({"identities": [identity]}))
    return file


def write_private(file: Path, text: str) -> None:
    """Replace a file atomically by one that is 0600 from its first moment."""
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
