"""Values as JSON, printed so that every output can express them."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from anbexact._runtime.progress import takes_every_character


def print_json(document: object) -> None:
    """Print a document as JSON; characters that standard output cannot express are escaped."""
    escaped = not takes_every_character(sys.stdout)
    print(json.dumps(plain_values(document), indent=2, ensure_ascii=escaped, allow_nan=False))


def plain_values(value: Any) -> Any:
    """Return a value that JSON can express: infinity and NaN become null, and dates text."""
    if isinstance(value, dict):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
