"""Every file that a released version wrote is read for ever: the same structure, and the same answers bit by bit.

``kept`` has an archive for each version, which ``make keep-files`` writes; see ``tests/kept_files.py``. The last bits
of an answer may depend on the processor and on the libraries that compute it. On others than those of the archive,
the logarithms of probabilities may differ by 1e-12.
"""

import json
import tarfile
from functools import cache

import kept_files
import numpy as np
import pytest

import anbexact
from anbexact.classifiers.registry import CLASSIFIERS
from anbexact.files.describe import saved_classifiers
from anbexact.files.document import FORMAT_VERSION
from anbexact.files.earlier import MIGRATIONS

ARCHIVES = sorted(path.name.removesuffix(".tar.xz") for path in kept_files.FOLDER.iterdir())


@cache
def members(version):
    """Return the contents of the files in an archive, by their names."""
    with tarfile.open(kept_files.FOLDER / f"{version}.tar.xz") as archive:
        return {file.name: archive.extractfile(file).read() for file in archive}


def kinds(version):
    return [name.removesuffix(".expected.json") for name in members(version) if name.endswith(".expected.json")]


def floats(rows):
    return np.array([[float.fromhex(value) for value in row] for row in rows])


@pytest.fixture(scope="module", name="unpacked")
def _unpacked(tmp_path_factory):
    """Return a folder for every version, with the files of its archive."""
    folders = {}
    for version in ARCHIVES:
        folders[version] = tmp_path_factory.mktemp(version)
        for name, content in members(version).items():
            (folders[version] / name).write_bytes(content)
    return folders


def test_every_version_has_an_archive():
    """After the number of the version is raised, ``make keep-files`` adds its files."""
    assert anbexact.__version__ in ARCHIVES


def test_every_kind_of_classifier_and_file_is_kept():
    kept = members(anbexact.__version__)
    saved = {json.loads(kept[f"{name}.expected.json"])["class"] for name in kinds(anbexact.__version__)}
    assert saved >= set(saved_classifiers()) >= set(CLASSIFIERS)
    assert set(kinds(anbexact.__version__)) == set(kept_files.KINDS)
    documents = [json.loads(content) for name, content in kept.items() if name.endswith(".json")]
    versions = {document["format_version"] for document in documents if "classifier" in document.get("format", "")}
    assert versions == {FORMAT_VERSION}


def test_every_earlier_format_can_be_changed_to_the_next():
    assert set(MIGRATIONS) == set(range(1, FORMAT_VERSION))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("version", "name"), [(version, name) for version in ARCHIVES for name in kinds(version)])
def test_a_kept_file_answers_as_it_did(version, name, unpacked, tmp_path):
    """So does what this version makes of it and saves again."""
    expected = json.loads((unpacked[version] / f"{name}.expected.json").read_text())
    model = kept_files.read(name, unpacked[version])
    kept_files.write(name, model, tmp_path)
    for found in (model, kept_files.read(name, tmp_path)):
        assert type(found).__name__ == expected["class"]
        classes = getattr(found, "classes_", None)
        assert (None if classes is None else list(map(str, classes))) == expected["classes"]
        assert kept_files.structure_of(found) == expected["structure"]
        logs = kept_files.answers(found, expected["rows"])
        if expected["made_on"] == kept_files.made_on() and not name.startswith("file"):
            assert [[float(value).hex() for value in row] for row in logs] == expected["answers"]
        np.testing.assert_allclose(logs, floats(expected["answers"]), rtol=1e-12, atol=1e-12)
