"""Former names of modules still import, and say where their contents are now."""

import sys
from importlib import import_module

import pytest

from anbexact._runtime.moved import MOVED, RENAMED, SPLIT


def test_former_names_import():
    for former, present in sorted(MOVED.items()):
        sys.modules.pop(former, None)
        with pytest.warns(DeprecationWarning, match=f"^{former} is now {present}: "):
            assert import_module(former) is import_module(present)


@pytest.mark.parametrize("module", sorted(SPLIT))
def test_names_that_left_a_module_are_still_there(module):
    former = import_module(module)
    for place in SPLIT[module]:
        own = {key: value for key, value in vars(import_module(place)).items() if not key.startswith("_")}
        for name in [key for key, value in own.items() if getattr(value, "__module__", None) == place]:
            if name in vars(former):  # what it imports itself
                assert vars(former)[name] is own[name]
                continue
            with pytest.warns(DeprecationWarning, match=f"^{module}.{name} is now {place}.{name}$"):
                assert getattr(former, name) is own[name]
    assert not hasattr(former, "unheard_of")


@pytest.mark.parametrize(("module", "former"), [(m, name) for m in sorted(RENAMED) for name in RENAMED[m]])
def test_former_names_of_classes(module, former):
    present = RENAMED[module][former]
    with pytest.warns(DeprecationWarning, match=f"^{module}.{former} is now called {present}$"):
        assert getattr(import_module(module), former) is getattr(import_module(module), present)
