#!/usr/bin/env bash
# Builds the source distribution and the wheel of the last commit into dist/, and tries them: metadata, an install into a
# bare environment, the demo from there, outside this folder; the wheel also with the oldest dependencies that it
# allows. The wheel is built twice (tools/wheel.sh). PYTHON chooses the interpreter. Nothing is uploaded.
set -euo pipefail
cd "$(dirname "$0")/.."

root=build/release
rm -rf dist "$root" build/lib build/bdist.*
tools/make-venv.sh "$root/tools"
"$root/tools/bin/python" -m pip install --quiet build twine uv
"$root/tools/bin/python" -m build --sdist --outdir dist . >"$root/build.log" 2>&1 || { cat "$root/build.log"; exit 1; }
tools/wheel.sh
cp build/wheel/*.whl dist/
"$root/tools/bin/twine" check --strict dist/*

# Tries what is installed in build/release/bare as a new user would; the static files of a report are among the contents.
try_it() (
    cd "$root"
    bare/bin/python -c 'from anbexact.datasets import load_iris; X, y = load_iris(); X.assign(iris=y).to_csv("iris.csv")'
    bare/bin/anbexact --version
    bare/bin/anbexact compare --dataset monks1 --models NB,ANB --folds 3
    bare/bin/anbexact fit iris.csv --class iris --model nb -o model.json
    bare/bin/anbexact report model.json iris.csv --no-validation -o report.html
    bare/bin/python -c 'import anbexact.adapters; print(anbexact.adapters.to_pgmpy.__name__)'
)

for package in dist/*.whl dist/*.tar.gz; do
    printf '\n== %s\n' "$package"
    rm -rf "$root/bare"
    tools/make-venv.sh "$root/bare"
    "$root/bare/bin/python" -m pip install --quiet "$package"
    try_it
done

printf '\nlicences of what is installed with it:\n'
"$root/bare/bin/python" - <<'PYTHON'
from importlib.metadata import distributions

for found in sorted(distributions(), key=lambda d: d.name.lower()):
    lines = (found.metadata.get("License-Expression") or found.metadata.get("License") or "").strip().splitlines()
    kinds = [c.split(" :: ")[-1] for c in found.metadata.get_all("Classifier", []) if c.startswith("License ::")]
    print(f"  {found.name} {found.version}: {lines[0][:60] if lines else ', '.join(kinds) or 'not said'}")
PYTHON

printf '\n== the wheel with the oldest dependencies\n'
rm -rf "$root/bare"
tools/make-venv.sh "$root/bare"
"$root/tools/bin/uv" pip compile --quiet --python "$root/bare/bin/python" --resolution lowest-direct \
    --output-file "$root/oldest.txt" pyproject.toml >/dev/null
"$root/tools/bin/uv" pip install --quiet --python "$root/bare/bin/python" --constraint "$root/oldest.txt" dist/*.whl
"$root/bare/bin/python" -m pip list 2>/dev/null | grep -i -E '^(numpy|scipy|numba|pandas|scikit-learn|pgmpy|statsmodels) '
try_it
