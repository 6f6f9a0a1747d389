"""Properties that are computed once for an object, without a lock that all objects share."""

import os
import re
import signal
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import anbexact
from anbexact._runtime.cached import cached_property

SOURCES = sorted(Path(anbexact.__file__).parent.rglob("*.py"))


@dataclass(frozen=True)
class Square:
    side: int
    begun: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def area(self):
        """The area, in square units."""
        self.begun.set()
        self.goes_on.wait()
        return self.side**2


def test_is_computed_once_for_an_object():
    square, other = Square(3), Square(4)
    square.goes_on.set()
    other.goes_on.set()
    assert (square.area, other.area) == (9, 16)
    square.begun.clear()
    assert square.area == 9
    assert not square.begun.is_set()
    assert Square.area.__doc__ == "The area, in square units."


@pytest.fixture(name="held")
def _held():
    """Let a thread compute the property of an object all the while."""
    held = Square(3)
    thread = threading.Thread(target=lambda: held.area)
    thread.start()
    held.begun.wait()
    yield held
    held.goes_on.set()
    thread.join()


def test_threads_with_different_objects_do_not_wait_for_each_other(held):
    other, areas = Square(4), []
    other.goes_on.set()
    thread = threading.Thread(target=lambda: areas.append(other.area), daemon=True)
    thread.start()
    thread.join(30)
    assert areas == [16]
    assert "area" not in vars(held)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.usefixtures("held")
def test_a_forked_process_does_not_wait_for_a_thread_of_the_other_one():
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        square = Square(5)
        square.goes_on.set()
        os._exit(square.area)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 25


def test_the_package_has_no_others():
    with_locks = re.compile(r"from functools import .*\bcached_property|functools\.cached_property")
    found = {path.name for path in SOURCES if with_locks.search(path.read_text(encoding="utf-8"))}
    assert found == {"cached.py"}
