"""Files that appear under their names only when they are complete."""

import os
import re
import stat

import pytest

from anbexact.adapters import to_file
from anbexact.classifiers import NaiveBayesClassifier
from anbexact.datasets import load_monks
from anbexact.files.atomic import atomic_path, write_atomically
from anbexact.report import panel


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")

    def fail():
        with atomic_path(path) as draft:
            draft.write_text("half")
            raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        fail()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def put(path):
    with atomic_path(path) as draft:
        assert draft.name == "out.csv"
        draft.write_text("after")


@pytest.mark.parametrize("write", [put, lambda path: write_atomically(path, "after")], ids=["path", "text"])
def test_the_file_keeps_its_name_its_mode_and_its_links(write, tmp_path):
    path, link = tmp_path / "out.csv", tmp_path / "link.csv"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    write(link)
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_regular_file_is_written_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(path, "text")
    assert os.read(reader, 9) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


def save(path):
    NaiveBayesClassifier().fit(*load_monks(1)).save(path)


def write(path):
    write_atomically(path, "text")


def write_in_place(path):
    with atomic_path(path) as draft:
        draft.write_text("text")


def write_network(path):
    to_file(NaiveBayesClassifier().fit(*load_monks(1)), path.with_suffix(".bif"))


def write_panel(path):
    panel(NaiveBayesClassifier().fit(*load_monks(1)), path)


@pytest.mark.parametrize("writer", [save, write, write_in_place, write_network, write_panel])
def test_a_missing_folder_is_named(tmp_path, writer):
    """And not the hidden file that would have been written first."""
    place = tmp_path / "none" / "m.json"
    with pytest.raises(FileNotFoundError, match=re.escape(f"the folder {place.parent} does not exist")) as refused:
        writer(place)
    assert refused.value.filename in (str(place), str(place.with_suffix(".bif")))
    assert not place.parent.exists()


@pytest.mark.parametrize("writer", [save, write, write_in_place])
def test_a_folder_is_no_place_for_a_file(tmp_path, writer):
    with pytest.raises(IsADirectoryError, match=re.escape(f"this is a folder, not a file: '{tmp_path}'")):
        writer(tmp_path)
    assert list(tmp_path.iterdir()) == []
