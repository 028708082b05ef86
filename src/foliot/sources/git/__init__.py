"""Following a git repository: from a push to directories that jobs run in.

A directory without git is followed in the same way: `folder` stands in the place of the clone.

Words: the *clone* is the source of truth; a *revision* is a commit of it; a *snapshot* is the directory of
one job with the files of one revision; a *set* is the snapshots of all jobs at one revision. An *errand* is
what a short-lived process does for the daemon.

Invariants:
- Whatever fails (remote, config, disk, a kill at any moment), the set that was good stays current, whole.
- A set never changes once it has a name; `current` is one link, so all jobs change over in one step.
- Nobody removes a set that some process has in mind, nor a snapshot that a run is in; locks of the operating
  system say so, and it releases them whatever happens to a process.
- Nothing of git, archives or many files happens in the daemon's process.
- Nothing that a repository holds is written outside its directories, and no secret into a message.

Read `follow` first (the cycle), then `layout` (what is where), `errand` and `worker` (who does it),
`clone`, `build` and `tree` (how), `snapshots` (where runs get their files), `address` and `program` (what
git is told). Nothing is imported here: each errand is a process, and starts the sooner.
"""
