"""Jobs that call a URL: no function of one's own, a signature, and retries that heed the server.

python examples/call_a_url.py

The shop below is the server. It is busy when it is first called, and says when to come again.
"""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from foliot import Foliot, Retry
from foliot.model.job import Action


class Shop(BaseHTTPRequestHandler):
    """Answers 503 at first, and 200 from then on."""

    seen: tuple[str, ...] = ()

    def do_POST(self) -> None:
        """Do the work once for each Idempotency-Key."""
        key = self.headers["idempotency-key"]
        is_signed = "webhook-signature" in self.headers
        print(f"shop: attempt {self.headers['foliot-attempt']}, signed: {is_signed}", flush=True)
        self.send_response(200 if key in self.seen else 503)
        self.send_header("retry-after", "1")
        self.send_header("content-length", "0")
        self.end_headers()
        Shop.seen += (key,)

    def log_message(self, *args: object) -> None:
        """Say nothing more."""


async def main() -> None:
    """Schedule a call, and make it now."""
    server = HTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["SHOP_KEY"] = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    call = Action(
        kind="http",
        data={
            "url": f"http://localhost:{server.server_port}/reindex",
            "body": {"full": True},
            "secret": "env:SHOP_KEY",
        },
    )
    async with Foliot("sqlite:///call_a_url.db", http_allow=[f"localhost:{server.server_port}"]) as app:
        await app.schedule("reindex", "30 2 * * *", call, retry=Retry(max=5, delay="1s"))
        attempt = await app.finished(await app.trigger("reindex"))
        print(
            f"{attempt.outcome} at attempt {attempt.number}: {(await app.log(attempt)).strip()}", flush=True
        )
    server.shutdown()


if __name__ == "__main__":
    asyncio.run(main())
