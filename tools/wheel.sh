#!/usr/bin/env bash
# Builds the wheel of the last commit twice and compares: the same commit gives the same file, bit by bit.
#
# Both builds start from what git has of the commit, in folders of different names and ages, in different time zones and
# with different hashes of strings in Python. Times in the wheel are those of the commit (SOURCE_DATE_EPOCH), permissions
# those of umask 022. The wheel and its SHA-256 are put into build/wheel. The hash also depends on setuptools, whose
# version the wheel names. PYTHON chooses the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

root=build/wheel
rm -rf "$root"
tools/make-venv.sh build/tools
build/tools/bin/python -m pip install --quiet build
SOURCE_DATE_EPOCH=$(git log -1 --pretty=%ct)
export SOURCE_DATE_EPOCH
umask 022

build() (
    local folder=$root/$1
    export PYTHONHASHSEED=$2 TZ=$3
    mkdir -p "$folder"
    git archive HEAD | tar -x -C "$folder" --touch
    build/tools/bin/python -m build --wheel --outdir "$folder/dist" "$folder" >"$folder.log" 2>&1 || {
        cat "$folder.log"
        exit 1
    }
)

build one 1 UTC
build another-one 2 Asia/Kolkata
if ! cmp "$root"/one/dist/*.whl "$root"/another-one/dist/*.whl; then
    echo 'two builds of the same commit differ' >&2
    exit 1
fi
cp "$root"/one/dist/*.whl "$root"
cd "$root"
sha256sum -- *.whl | tee SHA256SUMS
