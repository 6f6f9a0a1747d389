"""Deadlines within others: the earliest limit counts, and an interrupt reaches all that belong together."""

import math
from itertools import product

import pytest

from anbexact._runtime import deadline as module
from anbexact._runtime.deadline import Deadline, abandonable


@pytest.mark.parametrize("limits", list(product([None, 3.0, 10.0], repeat=3)))
def test_the_earliest_limit_of_all_outer_deadlines_counts(limits, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    outer, middle, inner = limits
    innermost = Deadline(inner, Deadline(middle, Deadline(outer)))
    now[0] += 2.0
    least = min((limit for limit in limits if limit is not None), default=math.inf)
    assert innermost.left == least - 2.0
    assert not innermost.passed
    now[0] += 2.0
    assert innermost.passed == (least == 3.0)
    assert innermost.left == max(least - 4.0, 0.0)


@pytest.mark.parametrize("which", range(3))
def test_an_interrupt_brings_forward_the_outer_deadlines_and_what_is_within_these(which):
    outer = Deadline()
    middle = outer.within(100.0)
    inner = middle.within(50.0)
    chain = [outer, middle, inner]
    sibling, other = outer.within(100.0), Deadline()
    chain[which].interrupt()
    assert [one.interrupted for one in (*chain, sibling)] == [True] * 4
    assert [one.left for one in (*chain, sibling)] == [0.0] * 4
    assert not other.interrupted


def test_an_interrupt_reaches_all_deadlines_of_an_abandonable_block():
    before = Deadline()

    def work():
        with abandonable():
            first, second = Deadline(), Deadline(100.0, before)
            within = second.within(50.0)
            assert not within.passed
            first.interrupt()
            assert first.passed
            assert second.passed
            assert within.passed
            assert not before.passed

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not Deadline().passed
