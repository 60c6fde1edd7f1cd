"""Tell the outcome of a run to the channels that are configured."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

NO_CHANNEL = (
    "no channel is configured, nobody was notified; to change that set DASKPERF_NOTIFY to "
    "one or more apprise URLs (https://github.com/caronc/apprise#supported-notifications)"
)


def notify(message_title: str, body_markdown: str, urls: str | Sequence[str]) -> str:
    """Send a message to every channel and say in words what happened.

    A channel that fails is reported, never raised: the run's result stands
    whether or not anybody could be told.

    Parameters
    ----------
    message_title, body_markdown
        What is sent.
    urls
        Apprise URLs; a string is split at spaces.

    Returns
    -------
    str
        A line for each channel. Of a URL only the scheme and the host are
        shown, and the host as apprise masks it, since all else may be secret.
    """
    channels = urls.split() if isinstance(urls, str) else [u for u in urls if u.strip()]
    if not channels:
        return NO_CHANNEL
    return "\n".join(
        f"channel {number} of {len(channels)}: {_send(url, message_title, body_markdown)}"
        for number, url in enumerate(channels, start=1)
    )


def _send(url: str, title: str, body: str) -> str:
    import apprise

    with apprise.LogCapture(level=logging.WARNING, fmt="%(message)s") as log:
        try:
            channel: Any = apprise.Apprise.instantiate(url)
            if not isinstance(channel, apprise.NotifyBase):
                return f"not sent: {_scheme(url)}... is no URL that apprise knows"
            shown = _shown(channel)
            sent = bool(
                channel.notify(title=title, body=body, body_format=apprise.NotifyFormat.MARKDOWN)
            )
            said = log.getvalue()
        # Channels are plugins of many hands: whatever one raises, the others get their turn.
        except Exception as err:
            return f"not sent to {_scheme(url)}...: {type(err).__name__}"
    if sent:
        return f"sent to {shown}"
    why = " ".join(_masked(said, url, shown).split())[:300]
    return f"not sent to {shown}: {why or 'the channel refused without a reason'}"


def _scheme(url: str) -> str:
    head, found, _ = url.partition("://")
    return f"{head}://" if found and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", head) else "it "


def _shown(channel: Any) -> str:
    parts = urlsplit(channel.url(privacy=True))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/..."


def _masked(text: str, url: str, shown: str) -> str:
    """Take out of ``text`` every part of the URL that is not shown anyway."""
    pieces = {p for u in (url, unquote(url)) for p in re.split(r"[/:@?&=#,+]+", u)}
    for piece in sorted(pieces, key=len, reverse=True):
        if len(piece) > 2 and piece not in shown:
            text = text.replace(piece, "***")
    return text
