"""Following a git repository: from a push to directories that jobs run in.

A directory without git is followed in the same way: `folder` stands in the place of the clone.

Words: the *clone* is the source of truth; a *revision* is a commit of it; a *snapshot* is the directory of
one job with the files of one revision; a *set* is the snapshots of all jobs at one revision; a *git process*
is a short-lived process that does one task for the daemon.

Invariants:
- If anything fails (remote, config, disk, a kill at any time), the last good set stays current, complete.
- A set never changes after it has a name; `current` is one link, so all jobs switch in one step.
- No process removes a set that another one may use, nor a snapshot that a run is in. Locks of the operating
  system guard them; they are released when a process ends, however it ends.
- Nothing of git, archives or many files happens in the daemon's process.
- Nothing that a repository holds is written outside its directories, and no secret into a message.

Read `follow` first (the cycle), then `layout` (the directories), `git_process` and `worker` (the two sides of
a task), `clone`, `build` and `tree` (how), `snapshots` (where runs get their files), `address` and `program`
(the arguments of git). This module imports nothing, so that a git process starts fast.
"""
