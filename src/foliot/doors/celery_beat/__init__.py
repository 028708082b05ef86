"""celery_beat: the schedule of a Celery application, carried out by Foliot's engine.

    celery -A proj beat -S foliot         the drop-in: `scheduler`
    foliot beat -A proj                   the same as a command of Foliot: --check, --metrics, --import

    beat_schedule ── entry ──▶ entries ── translate, rule ──▶ jobs ── application ──▶ engine ──▶ a message for
                                             │                                                  a worker
                                             └── proof: the next 1,000 occurrences by both

An *entry* is what Celery calls a periodic task: a name, a schedule, a task and its arguments. Each entry
becomes a job of the source that has the application's name. Entries that RedBeat or django-celery-beat keeps
elsewhere are *imported*, once, with their last runs (`redbeat`, `django_rows`, `cut_over`); they become jobs
of the source `<name>.added`, as jobs that a program schedules while it runs.

Invariants: an entry that cannot be carried over is refused by its name, with what to write instead, and never
dropped in silence. Any number of beats may run: the store decides which of them sends a message. The store is
never guessed: `foliot_store` in Celery's configuration, or FOLIOT_STORE, names it.

Nothing here imports Celery before it is needed: whoever has no Celery can import this package.
"""
