"""From crontabs, timers and CronJobs to rollcron.yaml, with a proof that jobs run when they ran before.

    source text ── crontab, systemd, kubernetes ──▶ lines, each accounted for once
                                                └─▶ drafts of jobs, each with its original
    drafts ── yaml_text ──▶ rollcron.yaml
    drafts + model ── proof ──▶ equal, or differences with their causes ── report ──▶ IMPORT.md

Nothing here changes the system that it reads. The laws:

- Every line of a source is in the report exactly once: job, variable, comment, blank, or not translated.
- The same input gives the same bytes.
- `model` imports nothing of `foliot.schedules`: it is the second opinion.
"""
