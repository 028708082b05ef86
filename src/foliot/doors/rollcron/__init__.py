"""rollcron: jobs in a file of a git repository.

    door.py         `Rollcron`: a repository that is followed, as a part of an application
    following.py    its cycle: pull, declare, say how the source fares
    boot.py         the runs of `@reboot`
    executor.py     its executor: shell commands, but only those whose files are here
    messages.py     what the log and the store are told about it
    troubles.py     what channels are told about it
    entrance.py     the way of runs to their files
    config.py       `read_config`: from the text of `rollcron.yaml` to jobs, or to all of its errors
    planned.py      the same for a plan, which may be made on another host
    fields.py       the table of all fields: what each may be, and where it goes
    alert_fields.py the fields about alerts: channels, and which of them a job tells
    record.py       what such kinds of values are made of
    schema.py       the same table as a JSON Schema
    value.py        the kinds of values, and what would be right
    yaml_tree.py    YAML as nodes with their places; the only user of the YAML library
    report.py       the errors of a file, in the order of its lines

A file is good as a whole or not at all: one error, and no job of it is declared, so that whoever follows
the repository keeps what was there before. A job's policies are those of `presets.ROLLCRON`, changed by
what its fields say; its action is data for the shell executor.

What is read comes from outside. It is bounded in size, depth, number of values and number of errors, and
nothing of it becomes a path, a command or a variable before it has been checked.
"""

from foliot.doors.rollcron.config import FILE, read_config

__all__ = ["FILE", "read_config"]
