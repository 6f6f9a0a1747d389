"""What people look at: reports, panels and tables; text for the terminal, values for JSON.

Every function is imported on first use, so that a feature report does not load what a whole report needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anbexact.report.arcs import arc_report
    from anbexact.report.evidence_panel import panel
    from anbexact.report.features import feature_report
    from anbexact.report.making import Report, report

__all__ = ["Report", "arc_report", "feature_report", "panel", "report"]

_MODULES = {
    "Report": "anbexact.report.making",
    "arc_report": "anbexact.report.arcs",
    "feature_report": "anbexact.report.features",
    "panel": "anbexact.report.evidence_panel",
    "report": "anbexact.report.making",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
