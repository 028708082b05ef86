"""The application object: jobs declared in Python code, run by an engine inside the program."""

from foliot.app.foliot import Foliot

__all__ = ["Foliot"]
