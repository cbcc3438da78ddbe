#!/bin/sh
# Build the development environment in the folder $1: uv when it is there, else venv and pip.
set -eu
venv=$1
python=${PYTHON:-python3}
dev="blockbuster>=1.5 coverage>=7.6 hatchling>=1.25 hypothesis>=6.110 import-linter>=2.1 mypy>=1.13 pytest>=8.3 pytest-timeout>=2.3 ruff>=0.8"
if command -v uv >/dev/null 2>&1; then
    UV_PYTHON_DOWNLOADS=never uv venv --quiet --clear --python "$python" "$venv"
    # shellcheck disable=SC2086  # the list is meant to be split
    UV_PYTHON_DOWNLOADS=never uv pip install --quiet --python "$venv/bin/python" -e . $dev
    exit
fi
if ! "$python" -m venv --clear "$venv" >/dev/null 2>&1; then
    # Debian without python3-venv: no ensurepip, so the system's pip fills a venv made without one.
    rm -rf "$venv"
    "$python" -m venv --without-pip "$venv"
    "$python" -m pip --version >/dev/null 2>&1 || {
        echo "error: no way to install packages. WHY: python3 has neither ensurepip nor pip. FIX: apt-get install python3-venv" >&2
        exit 3
    }
    # shellcheck disable=SC2086
    exec "$python" -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check -e . $dev
fi
# shellcheck disable=SC2086
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e . $dev
