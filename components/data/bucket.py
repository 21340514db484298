"""Buckets, through the minio SDK (the object client has no call for them)."""

from components.data.endpoint import Endpoint
from components.data.storage import AccessDenied, StorageError, TransientFault, Unavailable, retry

OURS_ALREADY = ("BucketAlreadyOwnedByYou",)
REFUSED = ("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "BucketAlreadyExists")


def make_bucket(endpoint: Endpoint, name: str, limit_s: float | None = None) -> None:
    """Create the bucket in an S3 server; one that exists and is ours is fine. `limit_s` as for `retry`.

    Raises AccessDenied (also for a bucket of somebody else), Unavailable.
    """
    import urllib3
    from minio import Minio
    from minio.error import S3Error

    client = Minio(
        endpoint.address,
        access_key=endpoint.access_key,
        secret_key=endpoint.secret_key,
        session_token=endpoint.session_token or None,
        region=endpoint.region,
        secure=endpoint.secure,
        # The SDK's own pool waits 5 minutes a request; `retry` does the waiting here.
        http_client=urllib3.PoolManager(timeout=urllib3.Timeout(connect=5, read=30), retries=False),
    )

    def attempt() -> None:
        where = f"s3://{name} at {endpoint.url}"
        try:
            if not client.bucket_exists(name):
                client.make_bucket(name, endpoint.region)
        except S3Error as error:
            if error.code in OURS_ALREADY:
                return
            if error.code in REFUSED:
                raise AccessDenied(
                    f"The store refused to create {where} ({error.code}): check AWS_ACCESS_KEY_ID and "
                    "AWS_SECRET_ACCESS_KEY, or take a bucket that exists."
                ) from None
            if (error.response.status or 0) >= 500:
                raise TransientFault(
                    Unavailable(f"The store fails to create {where} ({error.code}).")
                ) from None
            raise StorageError(f"The store would not create {where} ({error.code}).") from None
        except urllib3.exceptions.SSLError:
            raise StorageError(
                f"The certificate of {endpoint.url} is not trusted: set SSL_CERT_FILE."
            ) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            reason = type(error).__name__
            fault = Unavailable(f"The store at {endpoint.url} does not answer ({reason}). Is it running?")
            raise TransientFault(fault) from None

    retry(attempt, limit_s)
