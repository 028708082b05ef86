"""The command line: thin commands over the library.

    main.py          the group `foliot`, and the way from an error to an exit code
    group.py         how a group of commands is made, and what stands under its help
    check.py         `foliot check`: a rollcron.yaml, before it is committed
    check_report.py  what it tells of errors and of jobs
    cron.py          `foliot cron next | explain | check`
    cron_options.py  what these commands take, and how it becomes a rule and a start
    cron_report.py   what they tell: facts for JSON, rows for a table
    session.py       a store for the time of one command, and how jobs and runs are found in it
    job.py           `foliot job list | show | next | why`
    job_command.py   `foliot job pause | resume | trigger | backfill`
    job_report.py    what they tell of a job
    run.py           `foliot run list | show | logs | cancel`
    run_report.py    what they tell of a run
    node.py          `foliot node list`
    token.py         `foliot token create | list | revoke`
    audit.py         `foliot audit list`
    audited.py       what commands change is written into the audit
    store.py         `foliot store check | migrate`
    moment.py        instants and durations, as people tell and give them
    table.py         tables that fit a terminal
    output.py        how all commands speak: tables and sentences for people, JSON for programs
    caret.py         the picture of an expression with a caret under its bad character
    exit_code.py     what a command ends with
    rollcron.py      the command `rollcron`, whose daemon comes with a later version

A command asks the library and hands the answer to `output`. An error travels up to `main.main`, which
writes it (with `-o json` as JSON on stdout, else as text on stderr) and returns its exit code; only a
rule that cannot be built is answered in `cron_options`, where its whole text is still known.

Three things hold for every command. No character of the input reaches a terminal raw: what cannot be
printed is escaped, and nothing given by a user is read as markup. Output without a terminal, or with
`NO_COLOR` set, has no escape codes. A reader that leaves early (`| head -1`) is no error.

rich is imported where a table meets a terminal and nowhere else: it adds half to the time to start.
"""
