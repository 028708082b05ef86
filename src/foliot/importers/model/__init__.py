"""What the old scheduler does: a second program beside our own, to compare with.

Nothing here imports `foliot.schedules`, so a fault there cannot hide itself: each model reads the old text by
its own rules and walks through time by its own steps. The models are tested against the real programs.

    vixie         Debian's cron, cronie, BusyBox's crond
    systemd       OnCalendar of a timer
    robfig        Kubernetes
    apscheduler   cron triggers of APScheduler 3

`wall` is what they share: the stretches of time in which a zone's clocks run evenly. Times are seconds since
1970, because a fire may come twice in one second and a list of numbers is compared at once.
"""
