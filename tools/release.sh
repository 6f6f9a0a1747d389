#!/usr/bin/env bash
# Builds the source distribution and the wheel into dist/, and tries them: metadata, an install into a bare environment,
# the demo from there, outside this folder. PYTHON chooses the interpreter. Nothing is uploaded.
set -euo pipefail
cd "$(dirname "$0")/.."

root=build/release
rm -rf dist "$root" build/lib build/bdist.*
tools/make-venv.sh "$root/tools"
"$root/tools/bin/python" -m pip install --quiet build twine
"$root/tools/bin/python" -m build --outdir dist . >"$root/build.log" 2>&1 || { cat "$root/build.log"; exit 1; }
"$root/tools/bin/twine" check --strict dist/*

for package in dist/*.whl dist/*.tar.gz; do
    printf '\n== %s\n' "$package"
    rm -rf "$root/bare"
    tools/make-venv.sh "$root/bare"
    "$root/bare/bin/python" -m pip install --quiet "$package"
    (
        cd "$root"
        bare/bin/anbexact --version
        bare/bin/anbexact compare --dataset monks-1 --models NB,ANB --folds 3
        bare/bin/python -c 'import anbexact.adapters, anbexact.report; print(anbexact.adapters.to_pgmpy.__name__)'
    )
done
printf '\nlicences of what is installed with it:\n'
"$root/bare/bin/python" - <<'PYTHON'
from importlib.metadata import distributions

for found in sorted(distributions(), key=lambda d: d.name.lower()):
    lines = (found.metadata.get("License-Expression") or found.metadata.get("License") or "").strip().splitlines()
    kinds = [c.split(" :: ")[-1] for c in found.metadata.get_all("Classifier", []) if c.startswith("License ::")]
    print(f"  {found.name} {found.version}: {lines[0][:60] if lines else ', '.join(kinds) or 'not said'}")
PYTHON
