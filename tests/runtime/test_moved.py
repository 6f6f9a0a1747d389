"""Former names of modules still import, and say where their contents are now."""

import sys
from importlib import import_module

import pytest

from anbexact._runtime.moved import MOVED


@pytest.mark.parametrize("former", sorted(MOVED))
def test_former_names_import(former):
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"^{former} is now {MOVED[former]}: "):
        assert import_module(former) is import_module(MOVED[former])
