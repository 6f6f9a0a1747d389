"""Networks and classifiers for other libraries, and for files.

Every function is imported on first use, so that importing this package loads neither pgmpy nor statsmodels.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anbexact.adapters.logit import LogitModel, to_logit
    from anbexact.adapters.network_files import from_file, to_file
    from anbexact.adapters.pgmpy import from_pgmpy, to_pgmpy
    from anbexact.adapters.queries import class_posterior, d_separated
    from anbexact.persistence.classifiers import load, save

__all__ = [
    "LogitModel",
    "class_posterior",
    "d_separated",
    "from_file",
    "from_pgmpy",
    "load",
    "save",
    "to_file",
    "to_logit",
    "to_pgmpy",
]

_MODULES = {
    "LogitModel": "logit",
    "class_posterior": "queries",
    "d_separated": "queries",
    "from_file": "exchange",
    "from_pgmpy": "pgmpy",
    "load": "files",
    "save": "files",
    "to_file": "exchange",
    "to_logit": "logit",
    "to_pgmpy": "pgmpy",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
