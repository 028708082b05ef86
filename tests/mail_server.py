"""A mail server for tests, on loopback, in a thread."""

from __future__ import annotations

import asyncio
import email
import email.policy
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP


class Inbox:
    """What a mail server received, and what it answers."""

    def __init__(self) -> None:
        self.mails: list[tuple[str, list[str], EmailMessage]] = []
        self.answer = "250 OK"
        self.answer_to_bad = "250 OK"  # of recipients with `bad` in their address

    async def handle_RCPT(  # noqa: N802 - the name is aiosmtpd's
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        answer = self.answer_to_bad if "bad" in address else "250 OK"
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - as above
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append((envelope.mail_from, envelope.rcpt_tos, mail))
        return self.answer


@contextmanager
def mail_server(inbox: Inbox, *, tls: ssl.SSLContext | None = None, **options: Any) -> Iterator[int]:
    """The port of a server; with `tls` it speaks TLS from the first byte."""
    loop = asyncio.new_event_loop()

    async def begin() -> asyncio.Server:
        return await loop.create_server(
            lambda: SMTP(inbox, hostname="test", loop=loop, **options), "127.0.0.1", 0, ssl=tls
        )

    server = loop.run_until_complete(begin())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
