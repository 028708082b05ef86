"""Names of channels and groups: equal things share one, and no two things do."""

from __future__ import annotations

from foliot.importers.registry import Registry


def test_no_channel_takes_the_name_of_another() -> None:
    names = Registry()
    entries = [{"mail": "a"}, {"mail": "a-2"}, {"mail": "a", "from": "b"}, {"mail": "a", "from": "c"}]
    given = [names.channel_for(entry) for entry in entries]
    assert len(set(given)) == len(entries)
    assert [names.channels[name] for name in given] == entries
    assert [names.channel_for(entry) for entry in entries] == given


def test_no_group_takes_the_name_of_another() -> None:
    names = Registry()
    folders = ["/etc/cron.daily", "/opt/cron.daily-2", "/srv/cron.daily", "/etc/cron.daily"]
    first, second, third, again = map(names.group_for, folders)
    assert len({first, second, third}) == 3
    assert first == again
