#!/bin/sh
# Build the development environment in the folder $1: uv when it is there, else venv and pip.
set -eu
venv=$1
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "error: retaind needs Python 3.11 or newer. WHY: $("$python" -V). FIX: make PYTHON=python3.12" >&2
    exit 3
}
dev=$("$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"])')
if command -v uv >/dev/null 2>&1; then
    export UV_PYTHON_DOWNLOADS=never
    uv venv --quiet --clear --python "$python" "$venv"
    # shellcheck disable=SC2086  # the list is meant to be split
    exec uv pip install --quiet --python "$venv/bin/python" -e . $dev
fi
if "$python" -m venv --clear "$venv" >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    exec "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e . $dev
fi
# Debian without python3-venv has no ensurepip: the system's own pip fills a venv that was made without one.
rm -rf "$venv"
"$python" -m venv --without-pip "$venv"
"$python" -m pip --version >/dev/null 2>&1 || {
    echo "error: no way to install packages. WHY: python3 has neither ensurepip nor pip. FIX: apt-get install python3-venv" >&2
    exit 3
}
# shellcheck disable=SC2086
exec "$python" -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check -e . $dev
