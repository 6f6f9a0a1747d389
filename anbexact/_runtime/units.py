"""Numbers, sizes in bytes and durations as readable text."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 row`` or ``2,700 rows``."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def agreeing(number: int, one: str, several: str) -> str:
    """Return the word that agrees with a number, such as ``is`` or ``are``."""
    return one if number == 1 else several


def with_article(noun: str) -> str:
    """Return a noun, such as the name of a class, with ``a`` or ``an``."""
    return f"{'an' if noun[:1].lower() in tuple('aeio') else 'a'} {noun}"


def number_text(value: float, digits: int) -> str:
    """Return a number with this many significant digits, but with all digits before the decimal point.

    Examples
    --------
    >>> number_text(1234567.8, 4), number_text(12.3456, 4), number_text(2.5e30, 4)
    ('1,234,568', '12.35', '2.5e+30')
    """
    whole = 10.0**digits <= abs(float(f"{value:.{digits}g}")) < 1e15
    return f"{value:,.0f}" if whole else f"{value:,.{digits}g}"


def human_bytes(size: float) -> str:
    """Return a size in bytes, kB, MB, GB or TB, with three digits."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"


def human_seconds(seconds: float) -> str:
    """Return a duration in seconds, minutes, hours or days."""
    for unit, length in (("s", 60.0), ("min", 60.0), ("h", 24.0)):
        if seconds < length * 2:
            return f"{seconds:.2g} {unit}" if seconds < 10 else f"{seconds:.0f} {unit}"
        seconds /= length
    if seconds > 36_500:
        return "more than a century"
    return f"{seconds:,.0f} days"
