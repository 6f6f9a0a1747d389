#!/usr/bin/env bash
# Runs a selection of tests on several versions of Python, with the newest dependencies and with the oldest ones that
# pyproject.toml allows and that have wheels for that Python.
#
#     tools/matrix.sh [NAME...]     a NAME is 3.11, 3.12, 3.13 or 3.14, or one of these with -oldest; without any, all
#
# Each has an environment of its own in build/matrix, with the package installed as users get it. Status: 0 if all
# passed, 1 if one failed, 2 if none failed but an interpreter is missing (PYENV_ROOT is searched, and the path).
set -euo pipefail
cd "$(dirname "$0")/.."

names=("$@")
[ $# -gt 0 ] || names=({3.11,3.12,3.13,3.14}{,-oldest})
root=build/matrix
tests=(
    tests/tables tests/datasets tests/scores/test_score_formulas.py tests/search/exact/test_search.py
    tests/search/exact/test_branch_and_cut.py tests/models/network/test_posterior.py tests/classifiers/test_classifiers.py
    tests/classifiers/test_sklearn_checks.py tests/files tests/adapters
)

say() { printf '\n== %s\n' "$*"; }

find_python() {
    local candidate
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        if "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# pip cannot resolve for the oldest versions.
install_uv() {
    tools/make-venv.sh "$root/tools"
    [ -x "$root/tools/bin/uv" ] || "$root/tools/bin/python" -m pip install --quiet uv
}

# The package's own dependencies are the oldest, the tools of the tests the newest that go with them.
run() {
    local name=$1 python=$2 uv=$root/tools/bin/uv versions=$root/$1.txt
    : >"$versions"
    if [[ $name == *-oldest ]]; then
        "$uv" pip compile --quiet --python "$python" --extra files --resolution lowest-direct --only-binary :all: \
            --output-file "$versions" pyproject.toml >/dev/null || return
        echo 'polars<2' >>"$versions"  # of later ones, scikit-learn 1.7 reads no names
    fi
    "$uv" venv --quiet --clear --python "$python" "$root/$name" || return
    "$uv" pip install --quiet --python "$root/$name/bin/python" --constraint "$versions" '.[test]' || return
    rm -rf build/lib build/bdist.*
    "$root/$name/bin/pytest" -n auto -q -p no:cacheprovider --tier=quick "${tests[@]}" </dev/null
}

install_uv
summary=
status=0
for name in "${names[@]}"; do
    version=${name%-oldest}
    if ! python=$(find_python "$version"); then
        verdict="missing: no Python $version found"
        [ $status -ne 0 ] || status=2
    else
        say "$name ($python)"
        if run "$name" "$python"; then
            verdict=passed
        else
            verdict=FAILED
            status=1
        fi
    fi
    summary+=$(printf '%-12s %s' "$name" "$verdict")$'\n'
done
say Summary
printf '%s' "$summary"
exit $status
