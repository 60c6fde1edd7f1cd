"""The boto3 client that S3 stores use, and what its errors mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from daskperf_tasks.errors import StoreError
from daskperf_tasks.store.protocol import NoSuchKey, StoreUnreachable

_GONE = {"404", "NoSuchKey", "NotFound"}
_FORBIDDEN = {"401", "403"}


def make_client(
    options: Mapping[str, Any], *, connect_timeout: float, read_timeout: float, attempts: int
) -> Any:
    """Return a client that gives up in bounded time.

    Parameters
    ----------
    options
        For ``boto3``'s client; what is not given comes from the environment
        and the profile.
    connect_timeout, read_timeout
        Seconds for one try.
    attempts
        Tries in all.
    """
    import boto3
    from botocore.config import Config

    session = boto3.session.Session()
    given = {"region_name": session.region_name or "us-east-1", **options}
    own: Config | None = given.pop("config", None)

    def build(style: str) -> Any:
        config = Config(
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            retries={"mode": "standard", "total_max_attempts": attempts},
            signature_version="s3v4",
            s3={"addressing_style": style},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        return session.client("s3", config=own.merge(config) if own else config, **given)

    client = build("auto")
    # The endpoint may come from the environment or a profile; only Amazon's
    # own has a host name for each bucket.
    return client if ".amazonaws.com" in client.meta.endpoint_url else build("path")


def meaning_of(
    err: Any, *, what: str, place: str, bucket: str, endpoint: str
) -> tuple[StoreError, frozenset[str]]:
    """Translate an answer that is an error; returns it with its code and status.

    Parameters
    ----------
    err
        A ``botocore.exceptions.ClientError``.
    what, place
        What was tried with which object.
    bucket, endpoint
        Where, without secrets.
    """
    answer = err.response.get("Error", {})
    status = err.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    code = str(answer.get("Code", ""))
    codes = frozenset({code, str(status)})
    if code == "NoSuchBucket":
        error: StoreError = StoreError(
            "the bucket does not exist",
            where=f"s3://{bucket} at {endpoint}",
            todo="make it, or point DASKPERF_STORE to one that exists",
        )
    elif codes & _GONE:
        error = NoSuchKey("the artifact store has no such object", where=place)
    elif codes & _FORBIDDEN:
        error = StoreError(
            f"the artifact store refused to {what}",
            where=place,
            found=f"{code} ({status})",
            todo="check the access key, its secret, and what they may do in this bucket",
        )
    else:
        error = StoreError(
            f"the artifact store could not {what}",
            where=place,
            found=without_secrets(f"{code} ({status}) {answer.get('Message', '')}".strip()),
            todo="look into the store's log; publish again when it is well",
        )
    return error, codes


def no_answer(err: Exception, *, what: str, place: str) -> StoreError:
    """Translate a ``botocore.exceptions.BotoCoreError``: there was no answer at all."""
    name = type(err).__name__
    if "Credential" in name:
        return StoreError(
            f"no credentials to {what}",
            where=place,
            found=name,
            todo="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile, or an "
            "Airflow connection",
        )
    return StoreUnreachable(
        "the artifact store does not answer",
        where=place,
        found=without_secrets(f"{name}: {err}")[:300],
        todo="start it or check the endpoint; what is in the spool stays there and is "
        "published the next time",
    )


def without_secrets(text: str) -> str:
    """Take user and password out of the URLs in a text.

    Examples
    --------
    >>> without_secrets("no answer from http://me:secret@host:9000/x")
    'no answer from http://***@host:9000/x'
    """
    return re.sub(r"//[^/@\s]*@", "//***@", text)
