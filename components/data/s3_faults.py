"""What an S3 server's answer means: obstore errors to sentences, and which of them may pass."""

import re

from components.data.endpoint import Endpoint
from components.data.storage import (
    AccessDenied,
    DiskFull,
    NotFound,
    StorageError,
    TransientFault,
    Unavailable,
)

TRANSIENT_STATUS = (408, 409, 429, 500, 502, 503, 504)
# SeaweedFS answers 500 while it grows its first volume (well under a second) and 500 for ever on a full disk.
FULL_DISK_PATIENCE_S = 15.0


def explain(error: Exception, uri: str, endpoint: Endpoint, writes: bool) -> Exception:
    """Return the StorageError that an obstore error stands for, or a TransientFault around one.

    Only codes and addresses are taken over from the error: S3 answers can quote keys and signatures.
    """
    text, status, code = str(error), http_status(error), s3_code(error)
    where = f"the store at {endpoint.url}"
    if code == "NoSuchBucket":
        bucket = uri.removeprefix("s3://").partition("/")[0]
        return NotFound(
            f"There is no bucket s3://{bucket} in {where}: check the name, or create it "
            "(`dogflow store up` creates the bucket of the embedded store)."
        )
    if status == 404 or (isinstance(error, FileNotFoundError) and not status):
        return NotFound(f"There is no {uri} in {where}.")
    if status in (401, 403):
        return _denied(code, uri, where)
    if status in TRANSIENT_STATUS:
        return _passing(status, code, uri, where, writes)
    if status == 507:
        return DiskFull(f"{uri} was not written: {where} has no space left (507).")
    if status in (301, 307) or "redirect" in text.lower():
        return StorageError(
            f"AWS_REGION={endpoint.region} is not the region of {uri}: {where} redirects. Set the right one."
        )
    if status:
        return StorageError(f"Access to {uri} failed: {where} answers {status} {code}".rstrip() + ".")
    if re.search(r"certificate|InvalidContentType|corrupt message", text):
        return StorageError(
            f"There is no trusted TLS connection to {where}: check that http or https in AWS_ENDPOINT_URL is "
            "right and that this machine knows the certificate."
        )
    reason = _reason(text)
    return TransientFault(
        Unavailable(f"{uri} cannot be reached: {where} does not answer ({reason}). Is it running?")
    )


def http_status(error: Exception) -> int:
    """Return the HTTP status an obstore error speaks of, 0 when there was no answer."""
    found = re.search(r"status code: (\d{3})", str(error))
    return int(found.group(1)) if found else 0


def s3_code(error: Exception) -> str:
    """Return S3's name for the error ("NoSuchKey"), "" when the answer has none (HEAD)."""
    found = re.search(r"<Code>(\w+)</Code>", str(error))
    return found.group(1) if found else ""


def _passing(status: int, code: str, uri: str, where: str, writes: bool) -> TransientFault:
    if status == 500 and writes:
        full = DiskFull(
            f"{uri} was not written: {where} keeps answering 500 to writes, which most often means that its "
            "disk is full. Free some space there and run the same command again."
        )
        return TransientFault(full, FULL_DISK_PATIENCE_S)
    return TransientFault(
        Unavailable(f"{uri} cannot be reached: {where} answers {status} {code}".rstrip() + ".")
    )


def _denied(code: str, uri: str, where: str) -> AccessDenied:
    if code == "RequestTimeTooSkewed":
        advice = "the clocks of this machine and of the store differ; set them right"
    elif code in ("InvalidAccessKeyId", "SignatureDoesNotMatch"):
        advice = (
            "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY (`dogflow store env` prints the embedded store's)"
        )
    else:
        advice = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they are allowed to do"
    return AccessDenied(f"Access to {uri} was refused by {where} ({code or 'AccessDenied'}): {advice}.", code)


def _reason(text: str) -> str:
    """Name the cause of a failed connection in the words of a person."""
    for pattern, reason in (
        ("ConnectionRefused", "connection refused"),
        ("dns error", "its host name is not known"),
        ("TimedOut|timed out|Timeout", "timed out"),
        ("ConnectionReset|BrokenPipe|IncompleteMessage", "connection lost"),
    ):
        if re.search(pattern, text):
            return reason
    return "connection failed"
