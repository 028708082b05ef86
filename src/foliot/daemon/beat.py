"""One life of `foliot beat`: the beat of a Celery application, and the metrics beside it."""

from __future__ import annotations

import os
from importlib.metadata import version

from foliot.app import Foliot
from foliot.daemon.serve import serving_metrics
from foliot.daemon.systemd import Systemd
from foliot.errors import without_password
from foliot.observability.log import tell


async def serve_beat(app: Foliot, metrics: tuple[str, int] | None) -> None:
    """Serve until told to stop; when this returns, nothing runs any more."""
    app.attach(Systemd(dict(os.environ), os.getpid()))
    tell("serving", version=version("foliot"), store=without_password(app.store), process=os.getpid())
    with serving_metrics(metrics, app):
        try:
            await app.run()
        finally:
            app.close()
