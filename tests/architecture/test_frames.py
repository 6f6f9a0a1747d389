"""How deep the package calls itself: from ``fit`` to the first kernel, every frame decides something."""

import sys

import pytest
from numba.core.dispatcher import Dispatcher

import anbexact
from anbexact import ANBClassifier, GBNClassifier, TANClassifier
from anbexact.datasets import load_iris, load_monks

MOST_FRAMES = 11
"""The first of them makes ``fit`` happen wholly or not at all."""


class Watched:
    """A kernel that takes down which functions of the package are under way when it is called."""

    def __init__(self, kernel, stacks):
        self.kernel, self.stacks = kernel, stacks

    def __getattr__(self, name):
        return getattr(self.kernel, name)

    def __call__(self, *args):
        frame, stack = sys._getframe(1), []
        while frame is not None:
            if frame.f_globals.get("__name__", "").startswith("anbexact."):
                stack.append(f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}")
            frame = frame.f_back
        self.stacks.append(stack[::-1])
        return self.kernel(*args)


@pytest.fixture
def stacks(monkeypatch):
    """The stacks of all calls of kernels, in the order of the calls."""
    if not isinstance(anbexact.search.exact.lattice.solve_blocks, Dispatcher):
        pytest.skip("kernels are plain Python here")
    taken = []
    for name, module in list(sys.modules.items()):
        if name.startswith("anbexact.") and not name.startswith("anbexact._kernels"):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, Dispatcher):
                    monkeypatch.setattr(module, attribute, Watched(value, taken))
    return taken


@pytest.mark.parametrize("load", [lambda: load_monks(1), load_iris], ids=["monks", "iris"])
@pytest.mark.parametrize("parameters", [{}, {"ess": 1.0}], ids=["ess chosen", "ess given"])
@pytest.mark.parametrize("model", [ANBClassifier, GBNClassifier, TANClassifier])
def test_a_kernel_is_few_frames_away(stacks, model, parameters, load):
    model(n_jobs=1, **parameters).fit(*load())
    searches = (stack for stack in stacks if any(".search." in frame for frame in stack))
    for stack in (stacks[0], next(searches)):
        assert len(stack) <= MOST_FRAMES, "\n".join(stack)
        assert stack[1].endswith(".fit")
