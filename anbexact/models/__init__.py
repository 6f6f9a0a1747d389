"""What is learned: structures, tables and densities, networks, logistic regressions, pools and averages."""

from anbexact.models.model import Model
from anbexact.models.network.network import TableNetwork
from anbexact.models.parameters import ConditionalTable
from anbexact.models.structure import Certificate, Structure

__all__ = ["Certificate", "ConditionalTable", "Model", "Structure", "TableNetwork"]
