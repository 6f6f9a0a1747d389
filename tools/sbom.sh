#!/usr/bin/env bash
# Writes the bill of materials of an installation: anbexact, every package that it needs, their versions, licences and
# dependencies, as CycloneDX in JSON, into build/sbom/anbexact.cdx.json. The installation is a new one, with the newest
# versions and without extras. PYTHON chooses the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

root=build/sbom
rm -rf "$root"
tools/make-venv.sh build/tools
build/tools/bin/python -m pip install --quiet cyclonedx-bom
tools/make-venv.sh "$root/installed"
rm -rf build/lib build/bdist.*
"$root/installed/bin/python" -m pip install --quiet .
"$root/installed/bin/python" -m pip uninstall --quiet --yes pip setuptools  # not needed once it is installed
build/tools/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --gather-license-texts \
    --output-reproducible --sv 1.6 --of JSON --validate -o "$root/anbexact.cdx.json" "$root/installed"
build/tools/bin/python - "$root/anbexact.cdx.json" <<'PYTHON'
import json
import sys
import tomllib

found = json.load(open(sys.argv[1], encoding="utf-8"))
about = found["metadata"]["component"]
names = {part["name"].lower() for part in found["components"]}
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
wanted = {requirement.split(">")[0].lower() for requirement in project["dependencies"]}
assert (about["name"], about["version"]) == (project["name"], project["version"]), about
assert wanted <= names, f"not in the bill: {wanted - names}"
print(f"{sys.argv[1]}: {about['name']} {about['version']} and the {len(names)} packages that it needs")
PYTHON
