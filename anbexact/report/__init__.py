"""What people look at: tables, text for the terminal, values for JSON."""

from anbexact.report.features import feature_report

__all__ = ["feature_report"]
