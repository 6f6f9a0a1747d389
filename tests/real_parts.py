"""Real parts: what is not among the tools of developers, and which tests need it.

Libraries, servers and programs that a test runs as users have them. A test that needs one is marked
``@pytest.mark.real("spark")``. It is skipped where that part is not installed; ``make test-real`` installs and starts
all parts and runs these tests, none of which is skipped then. ``python tests/real_parts.py`` says what is there.
"""

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SERVER = "ANBEXACT_POSTGRESQL"
"""The variable with the address of a PostgreSQL server, such as ``host=localhost dbname=postgres``."""


@dataclass(frozen=True)
class Part:
    """What a part consists of: packages that can be imported, a program by any of its names, a variable."""

    packages: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    variable: str = ""

    def missing(self):
        """Return what is not there, in a sentence; empty if all of it is."""
        for package in self.packages:
            if find_spec(package) is None:
                return f"the package {package} is not installed"
        if self.program and found(self.program) is None:
            return f"the program {self.program[0]} is not installed"
        if self.variable and not os.environ.get(self.variable):
            return f"the variable {self.variable} does not name a server"
        return ""

    def versions(self):
        """Return the versions of the packages, by the names under which they are distributed, and the program's."""
        distributions = packages_distributions()
        known = [f"{name} {version(name)}" for package in self.packages for name in distributions[package][:1]]
        return ", ".join(known + ([program_version(found(self.program))] if self.program else []))


PARTS = {
    "arviz": Part(("arviz",)),
    "chromium": Part(program=CHROMIUM),
    "cvxpy": Part(("cvxpy",)),
    "dask": Part(("dask",)),
    "distributed": Part(("distributed",)),
    "ibis": Part(("ibis",)),
    "jpmml": Part(("jpmml_evaluator",), ("java",)),
    "libreoffice": Part(program=("soffice", "libreoffice")),
    "mlflow": Part(("mlflow",)),
    "node": Part(program=("node",)),
    "numpyro": Part(("numpyro",)),
    "playwright": Part(("playwright",), CHROMIUM),
    "postgresql": Part(("psycopg",), variable=SERVER),
    "pymc": Part(("pymc",)),
    "skl2onnx": Part(("skl2onnx",)),
    "spark": Part(("pyspark",), ("java",)),
}


def found(names):
    """Return the path of the first of these programs that is installed, or None."""
    return next(filter(None, map(shutil.which, names)), None)


def chromium():
    """Return the path of the browser that the tests drive."""
    return found(CHROMIUM)


def program_version(path):
    """Return the first line of what a program says of its version."""
    option = "-version" if os.path.basename(path) == "java" else "--version"
    done = subprocess.run([path, option], capture_output=True, text=True, timeout=60)
    said = (done.stdout or done.stderr).strip().partition("\n")[0]
    return said if os.path.basename(path) in said.lower() or "openjdk" in said else f"{os.path.basename(path)} {said}"


def part_of(item):
    """Return the part that a test needs, or None.

    Raises
    ------
    KeyError
        If there is no such part.
    """
    marker = item.get_closest_marker("real")
    if marker is None:
        return None
    (name,) = marker.args
    if name not in PARTS:
        raise KeyError(f"{item.nodeid} needs {name!r}, which is none of {', '.join(PARTS)}")
    return name


def marked(values, **parts):
    """Return values of a parameter, each marked with the part that it needs: the one of its name, or of ``parts``."""
    return [
        pytest.param(value, marks=pytest.mark.real(part)) if (part := parts.get(value, value)) in PARTS else value
        for value in values
    ]


def by_part(reports):
    """Return the reports of what was run, by the part that each test names in its properties.

    The phases before and after a test count only if they failed.
    """
    run = defaultdict(list)
    for report in reports:
        if report.when == "call" or not report.passed:
            run[dict(report.user_properties).get("real")].append(report)
    return run


def summary(names, reports):
    """Return a table as lines of CSV: the parts, their versions, the tests run, how many failed, and seconds."""
    run = by_part(reports)
    lines = ["part,versions,tests,failed,seconds"]
    for name in names:
        failed = {report.nodeid for report in run[name] if report.failed}
        tests = {report.nodeid for report in run[name]}
        seconds = sum(report.duration for report in run[name])
        versions = PARTS[name].versions().replace('"', "")
        lines.append(f'{name},"{versions}",{len(tests)},{len(failed)},{seconds:.1f}')
    return lines


if __name__ == "__main__":
    for name, part in PARTS.items():
        sys.stdout.write(f"{name}: {part.missing()}\n")
