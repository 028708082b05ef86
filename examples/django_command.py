"""Jobs of a Django site: a management command runs them beside the web server.

    python examples/django_command.py migrate
    python examples/django_command.py runjobs         until Ctrl-C or SIGTERM

Here all is in one file. In a site the settings are the site's own, `Command` is the file
`management/commands/runjobs.py` of one of its applications, and `python manage.py runjobs` starts it.
"""

from __future__ import annotations

import asyncio
import sys

import django
from django.conf import settings
from django.core.management import call_command, execute_from_command_line
from django.core.management.base import BaseCommand
from django.db import close_old_connections

from foliot import Foliot
from foliot.executors.python import JobRun

settings.configure(
    INSTALLED_APPS=["django.contrib.sessions"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}},
)
django.setup()
jobs = Foliot("sqlite:///jobs.db")


@jobs.job("@every 2s")  # a site would say "0 4 * * *"
def clear_sessions(run: JobRun) -> None:
    """A plain function, which runs in a thread: Django's ORM blocks."""
    close_old_connections()  # as Django itself does around each request
    call_command("clearsessions")
    run.log("expired sessions are gone")


class Command(BaseCommand):  # type: ignore[misc] # Django has no types of its own
    """`manage.py runjobs`."""

    help = "Run the site's jobs until stopped."

    def handle(self, *_: object, **__: object) -> None:
        """Run until a signal comes, then let what runs end."""
        self.stdout.write("the jobs run; Ctrl-C ends them")
        asyncio.run(jobs.run())


if __name__ == "__main__":
    if sys.argv[1:2] == ["runjobs"]:
        Command().run_from_argv(sys.argv)
    else:
        execute_from_command_line(sys.argv)
