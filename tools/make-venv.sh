#!/bin/sh
# Makes a virtual environment with pip in the given folder (default .venv), unless a sound one is there already.
# PYTHON chooses the interpreter; otherwise the first Python >= 3.11 on the path is taken.
set -eu
venv=${1:-.venv}

say() { printf '%s\n' "$*" >&2; }

recent_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# Sound: Python starts and is recent enough, pip is complete, and no package is left half installed.
sound() {
    [ -x "$venv/bin/python" ] && recent_enough "$venv/bin/python" && "$venv/bin/python" - 2>/dev/null <<'PYTHON'
from importlib.metadata import distributions, files
assert all(path.locate().exists() for path in files("pip") if path.suffix == ".py")
assert all(distribution.files is not None for distribution in distributions())
PYTHON
}

# Runs a command that makes the environment. What a failed attempt leaves behind is removed, its words are kept.
said=
attempt() {
    rm -rf "$venv"
    if words=$("$@" 2>&1) && sound; then
        say "made $venv with $1"
        exit 0
    fi
    rm -rf "$venv"
    said="$said$words
"
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if recent_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    say "No Python 3.11 or later found${PYTHON:+ (PYTHON is $PYTHON)}."
    say "Install one, or name it: make PYTHON=/path/to/python3.11 ..."
    exit 1
}

if sound; then exit 0; fi
if [ -e "$venv" ]; then say "$venv is incomplete or too old: making it again"; fi
python=$(find_python)

attempt "$python" -m venv "$venv"
if command -v uv >/dev/null; then attempt uv venv --seed --python "$python" "$venv"; fi
if command -v virtualenv >/dev/null; then attempt virtualenv --python "$python" "$venv"; fi

# Debian and Ubuntu keep what `python -m venv` needs in a package of its own.
package=$("$python" -c 'import sys; print("python{}.{}-venv".format(*sys.version_info))')
if command -v apt-get >/dev/null; then
    sudo=
    if [ "$(id -u)" -ne 0 ]; then sudo='sudo -n'; fi
    if $sudo true 2>/dev/null; then
        say "$python cannot make virtual environments: installing the system package $package"
        if { $sudo apt-get update && $sudo env DEBIAN_FRONTEND=noninteractive \
            apt-get install --yes --no-install-recommends "$package"; } >&2 </dev/null; then
            attempt "$python" -m venv "$venv"
        fi
    fi
fi

say "$said"
say "$python cannot make a virtual environment. One of these helps; then run make again:"
say "    sudo apt-get install $package    (Debian, Ubuntu)"
say "    pipx install virtualenv, or install uv  (any system)"
say "    make PYTHON=/path/to/another/python3 ..."
exit 1
