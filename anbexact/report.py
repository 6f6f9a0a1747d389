"""What people look at: reports, panels and tables; text for the terminal, values for JSON.

Every function is imported on first use, so that a feature report does not load what a whole report needs.
"""

from typing import TYPE_CHECKING

from anbexact._runtime.lazy import import_on_first_use

if TYPE_CHECKING:
    from anbexact.show.report.arcs import arc_report
    from anbexact.show.report.evidence_panel import panel
    from anbexact.show.report.features import feature_report
    from anbexact.show.report.making import Report, report
    from anbexact.show.report.nomogram import Nomogram, nomogram
    from anbexact.show.report.stability import stability_report

__all__ = ["Nomogram", "Report", "arc_report", "feature_report", "nomogram", "panel", "report", "stability_report"]

import_on_first_use(
    __name__,
    {
        "Nomogram": "anbexact.show.report.nomogram",
        "Report": "anbexact.show.report.making",
        "arc_report": "anbexact.show.report.arcs",
        "feature_report": "anbexact.show.report.features",
        "nomogram": "anbexact.show.report.nomogram",
        "panel": "anbexact.show.report.evidence_panel",
        "report": "anbexact.show.report.making",
        "stability_report": "anbexact.show.report.stability",
    },
)
