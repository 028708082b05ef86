"""Where definitions come from, apart from code: `git`, a repository that is followed."""
