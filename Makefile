# Foliot: every command sets up what it needs. Plain `make` explains itself.

VENV   := .venv
RUN    := .venv-run
BENCH  := .venv-bench
BENCH4 := $(BENCH)/apscheduler4
PYTHON := $(VENV)/bin/python
STAMP  := $(VENV)/.ready
PYTEST := $(PYTHON) -m pytest -n auto --dist worksteal

.DEFAULT_GOAL := help
.PHONY: reference help run test prove coverage check lint types imports docs ledger bench million format lock clean

help: ## show this list
	@echo "Foliot - a durable cron for Python people"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(RUN)/.ready ## run the jobs of a small git repository, and watch them (q ends it); says what to try
	@$(RUN)/bin/python examples/follow.py

test: $(STAMP) ## run the tests and the snippets of the documentation: about ten minutes
	@$(PYTHON) tools/prove.py --suite test

prove: $(STAMP) ## run the long proofs: simulation, kill loops, fault harness, planted bugs; about an hour
	@$(PYTHON) tools/prove.py

coverage: $(STAMP) ## both, with branch coverage of all processes that tests start: takes twice as long
	@$(PYTHON) -m coverage erase
	@$(PYTHON) -m coverage run -m pytest -q -n auto --dist worksteal tests proof/tests
	@$(PYTHON) -m coverage combine --quiet
	@$(PYTHON) -m coverage report

check: lint types imports docs ## lint, types, import contract, documentation: what CI runs before the tests

lint: $(STAMP)
	@$(VENV)/bin/ruff check
	@$(VENV)/bin/ruff format --check
	@$(PYTHON) tools/sizes.py

types: $(STAMP)
	@$(PYTHON) -m mypy src proof tests examples tools benchmarks
	@$(PYTHON) -m mypy conftest.py

imports: $(STAMP)
	@$(VENV)/bin/lint-imports

docs: $(STAMP)
	@$(PYTHON) -m pytest -q tests/docs README.md docs

ledger: $(STAMP) ## run the tests and the proofs, and print which promises have a passing one
	@$(PYTEST) -q --ledger tests proof/tests

bench: $(STAMP) $(BENCH)/.ready $(BENCH4)/.ready ## measure us and the peers side by side; writes JSON and charts
	@$(BENCH)/bin/python -m benchmarks.cron
	@$(BENCH)/bin/python -m benchmarks.plan
	@$(BENCH)/bin/python -m benchmarks.fire
	@$(BENCH)/bin/python -m benchmarks.loading
	@$(BENCH)/bin/python -m benchmarks.change
	@$(BENCH)/bin/python -m benchmarks.alerts
	@$(BENCH)/bin/python -m benchmarks.api
	@$(PYTHON) -m benchmarks.pages --output docs/assets/bench-pages.json
	@$(BENCH)/bin/python -m benchmarks.shell
	@$(BENCH)/bin/python -m benchmarks.nodes
	@$(BENCH)/bin/python -m benchmarks.beat --output docs/assets/bench-beat.json
	@$(BENCH)/bin/python -m benchmarks.redis
	@$(BENCH)/bin/python tools/speed_tables.py
	@$(BENCH)/bin/python tools/fire_tables.py
	@$(BENCH)/bin/python tools/nodes_tables.py

million: $(BENCH)/.ready $(BENCH4)/.ready ## let a million jobs fire at once, on SQLite and PostgreSQL; half an hour
	@$(BENCH)/bin/python -m benchmarks.fire --million
	@$(BENCH)/bin/python -m benchmarks.nodes --million
	@$(BENCH)/bin/python tools/fire_tables.py
	@$(BENCH)/bin/python tools/nodes_tables.py

format: $(STAMP) ## format the code
	@$(VENV)/bin/ruff check --fix --quiet || true
	@$(VENV)/bin/ruff format

reference: $(STAMP) ## renew the pages that are made from the code
	@$(PYTHON) tools/cli_reference.py
	@$(PYTHON) tools/rest_reference.py
	@$(PYTHON) tools/policy_reference.py
	@$(PYTHON) tools/speed_tables.py
	@$(PYTHON) tools/fire_tables.py
	@$(PYTHON) tools/nodes_tables.py
	@$(PYTHON) tools/state_machine.py

lock: $(STAMP) ## renew the lock files (needs uv, from PyPI)
	@$(PYTHON) -m pip install --quiet uv
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
		--no-header --no-annotate --no-emit-index-url pyproject.toml --group dev -o requirements/dev.lock
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
		--no-header --no-annotate --no-emit-index-url pyproject.toml --extra api -o requirements/run.lock \
		--constraint requirements/dev.lock
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
		--no-header --no-annotate --no-emit-index-url pyproject.toml --group bench -o requirements/bench.lock
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
		--no-header --no-annotate --no-emit-index-url --group bench-apscheduler4 \
		-o requirements/bench-apscheduler4.lock

clean: ## remove environments and caches
	@rm -rf $(VENV) $(RUN) $(BENCH) .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(STAMP): requirements/dev.lock pyproject.toml proof/pyproject.toml tools/bootstrap.sh
	@tools/bootstrap.sh $(VENV) requirements/dev.lock ./proof
	@touch $@

$(RUN)/.ready: requirements/run.lock pyproject.toml tools/bootstrap.sh
	@tools/bootstrap.sh $(RUN) requirements/run.lock
	@touch $@

$(BENCH)/.ready: requirements/bench.lock pyproject.toml tools/bootstrap.sh
	@tools/bootstrap.sh $(BENCH) requirements/bench.lock
	@touch $@

$(BENCH4)/.ready: requirements/bench-apscheduler4.lock tools/bootstrap.sh | $(BENCH)/.ready
	@tools/bootstrap.sh $(BENCH4) requirements/bench-apscheduler4.lock
	@touch $@
