"""Alerts go out by channels: a webhook, mail, a command, a ping, Apprise."""
