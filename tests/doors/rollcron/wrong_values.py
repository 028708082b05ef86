"""Wrong values of the fields that came later: lines, field, column, message and hint."""

from __future__ import annotations

WRONG_LATER = [
    # after
    ("after: a b", "after", 12, "a b is no id of a job", "write after: load"),
    ("after: x", "after", 12, "there is no job x", "it must be a job of this repository"),
    # user, nice and umask
    ("user: 33", "user", 11, "must be a text, not a number", "put it in quotes"),
    ("user: a b", "user", 11, "a b is no name of a user", "such as www-data"),
    ("nice: -5", "nice", 11, "-5 must lie between 0 and 19", None),
    ("umask: 27", "umask", 12, "27 is no umask", "write three octal digits, such as 027"),
    ("umask: 089", "umask", 12, "089 is no umask", "octal digits"),
    # except and only
    ("except: de berlin", "except", 13, "de berlin is no name of a calendar", "letters, digits"),
    ("except: de", "except", 13, "there is no calendar de", "write calendars: and de: under it"),
    ("only: [3]", "only", 12, "must be a text, not a number", 'put it in quotes: "3"'),
    # group
    ("group: a b", "group", 12, "a b is no name of a group", "letters, digits, _ and - only"),
    ("group: 3", "group", 12, "must be a text, not a number", 'put it in quotes: "3"'),
]
