"""How long the pages of the dashboard take on a store with many jobs, against their budgets."""
