#!/bin/sh
# Create .venv and install exactly what requirements.lock pins, then this project, editable.
# PYTHON=/path/to/python chooses the interpreter. Run by `make setup`.
set -eu

say() { printf '%s\n' "$*"; }
fail() { printf '\n%s\n' "$*" >&2; exit 1; }

is_recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
version_of() { "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null || say "none that runs"; }

choose_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_recent "$PYTHON" || fail "PYTHON=$PYTHON is $(version_of "$PYTHON"); Olvido needs Python 3.11 or newer."
        return
    fi
    for PYTHON in python3 python3.14 python3.13 python3.12 python3.11; do
        if is_recent "$PYTHON"; then return; fi
    done
    fail "Olvido needs Python 3.11 or newer; python3 here is $(version_of python3).
Install a newer one and name it:  make setup PYTHON=/path/to/python3.12"
}

create_environment() {
    choose_python
    version=$(version_of "$PYTHON")
    minor=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    say "Creating .venv with Python $version"
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || fail \
        "Python $version has no venv or ensurepip, so it cannot create a virtual environment.
On Debian and Ubuntu they are a package of their own:  apt-get install python$minor-venv"
    rm -rf .venv
    "$PYTHON" -m venv .venv || fail \
        "Python $version could not create .venv; its message is above.
On Debian and Ubuntu, this may help:  apt-get install python$minor-venv"
    # The installer itself is pinned: its entry is the line `uv==...` and the indented hashes below it.
    awk '/^[^ #]/ { wanted = /^uv==/ } wanted' requirements.lock > .venv/uv.lock
    .venv/bin/python -m pip install -qq --disable-pip-version-check --no-deps --require-hashes -r .venv/uv.lock
}

# True for an environment made here (not copied from elsewhere) that still runs and that nobody asks to replace.
is_usable() {
    [ -z "${PYTHON:-}" ] && is_recent .venv/bin/python && grep -qsF "$PWD/.venv" .venv/bin/activate \
        && .venv/bin/uv --version >/dev/null 2>&1
}

# An activated environment or a personal package path must not leak into this one.
unset VIRTUAL_ENV CONDA_PREFIX PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_USER

is_usable || create_environment

say "Installing the packages that requirements.lock pins"
.venv/bin/uv pip sync --quiet --python .venv/bin/python --require-hashes requirements.lock
.venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .

touch .venv/.ready
