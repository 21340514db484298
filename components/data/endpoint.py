"""The S3 server that the environment names: one place for AWS_* variables, used by every client library."""

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from components.data.storage import StorageError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
DEFAULT_REGION = "us-east-1"


@dataclass(frozen=True)
class Endpoint:
    """Where an S3 server is and how to sign for it. Its repr shows no secret."""

    url: str  # "http://127.0.0.1:8333", no path
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    region: str
    session_token: str = field(repr=False, default="")

    @property
    def address(self) -> str:
        """host:port, as the minio SDK and pyarrow want it."""
        return urlsplit(self.url).netloc

    @property
    def secure(self) -> bool:
        return self.url.startswith("https://")

    @property
    def loopback(self) -> bool:
        return urlsplit(self.url).hostname in LOOPBACK


def read_endpoint() -> Endpoint:
    """Return the endpoint of AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION.

    Raises StorageError naming every missing variable, or what is wrong with the URL.
    """
    needed = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    missing = [name for name in needed if not os.environ.get(name)]
    if missing:
        raise StorageError(
            f"s3:// needs {', '.join(missing)} in the environment. For the embedded store run "
            '`dogflow store up` and then `eval "$(dogflow store env)"`; for AWS the endpoint is '
            "https://s3.REGION.amazonaws.com."
        )
    url, access_key, secret_key = (os.environ[name].strip() for name in needed)
    parts = urlsplit(url)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.path not in ("", "/")
        or parts.query
    ):
        raise StorageError(
            "AWS_ENDPOINT_URL must look like http://HOST:PORT or https://HOST, without a path (the bucket "
            "stands in the s3:// URI)."
        )
    if parts.username is not None or parts.password is not None:
        raise StorageError(
            "AWS_ENDPOINT_URL must not hold credentials: put them in AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY."
        )
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or DEFAULT_REGION
    token = os.environ.get("AWS_SESSION_TOKEN", "").strip()
    return Endpoint(url.rstrip("/"), access_key, secret_key, region, token)
