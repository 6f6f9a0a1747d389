"""Conditional tables from counts, and the amount of smoothing."""

from anbexact.models.parameters.tables import (
    ConditionalTable,
    Tables,
    acll_tables,
    eap_tables,
    friedman_tables,
    ml_tables,
)

__all__ = ["ConditionalTable", "Tables", "acll_tables", "eap_tables", "friedman_tables", "ml_tables"]
