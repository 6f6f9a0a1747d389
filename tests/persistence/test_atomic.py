"""Files that appear under their names only when they are complete."""

import pytest

from anbexact.persistence.atomic import atomic_path


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


def test_the_file_keeps_its_name_its_mode_and_its_links(tmp_path):
    path, link = tmp_path / "out.csv", tmp_path / "link.csv"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_path(link) as draft:
        assert draft.name == "out.csv"
        draft.write_text("after")
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
