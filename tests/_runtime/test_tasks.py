"""Functions in threads."""

import threading

import pytest

from anbexact._runtime.tasks import in_threads


@pytest.mark.parametrize("threads", [1, 2, 5])
class TestInThreads:
    def test_returns_results_in_order(self, threads):
        with in_threads(threads) as run:
            assert run(lambda one, other: 10 * one + other, range(7), range(3, 10)) == [3, 14, 25, 36, 47, 58, 69]
            assert run(str, []) == []

    def test_uses_as_many_threads(self, threads):
        together = threading.Barrier(threads)
        with in_threads(threads) as run:
            found = run(lambda _: (together.wait(timeout=60), threading.get_ident())[1], range(threads))
        assert len(set(found)) == threads
        assert (threading.get_ident() in found) == (threads == 1)

    def test_raises_what_a_function_raises(self, threads):
        with pytest.raises(ZeroDivisionError), in_threads(threads) as run:
            run(lambda value: 1 / value, [1, 0, 2])
