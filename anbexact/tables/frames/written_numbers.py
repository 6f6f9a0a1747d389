"""Numbers as people write them: with a currency or percent sign, thousands, and a decimal point or comma."""

from __future__ import annotations

import re
from dataclasses import dataclass

DECIMAL_MARKS = (".", ",")
CURRENCY_NAMES = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KES KRW KZT MAD MXN MYR NGN "
    "NOK NZD PEN PHP PKR PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR US$ A$ AU$ C$ CA$ NZ$ HK$ S$ R$ RM "
    "Rs. Rs SFr. SFr Fr. Fr kr. kr Kr zł Kč Ft lei"
)
"""Names and abbreviations of currencies; the signs of Unicode's category Sc are `CURRENCY_SIGNS`."""
CURRENCY_SIGNS = "$¢£¤¥֏؋৲৳฿៛₠₡₢₣₤₥₦₧₨₩₪₫€₭₮₯₰₱₲₳₴₵₶₷₸₹₺₻₼₽₾₿"
PER_CENT = "%‰"
"""Signs after a number that are part of its unit."""
_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", " ") | {"’": "'", "−": "-", "﹣": "-", "－": "-"})
_CURRENCY = "|".join(map(re.escape, sorted(CURRENCY_NAMES.split(), key=len, reverse=True)))
_CURRENCY = rf"(?:{_CURRENCY}|[{re.escape(CURRENCY_SIGNS)}])"
_CELL = re.compile(
    rf"(?P<open>\( ?)?(?P<sign>[+-] ?)?(?P<before>{_CURRENCY} ?)?(?P<inner>[+-] ?)?"
    rf"(?P<body>[.,]?\d(?:[\d.,' ]*\d)?[.,]?)(?P<power>[eE][+-]?\d+)?"
    rf"(?P<after> ?(?:[{PER_CENT}]|{_CURRENCY}))?(?P<close> ?\))?",
    re.ASCII,
)
_CODE = re.compile(r"0\d", re.ASCII)


def plain_text(text: str) -> str:
    """Return a text with ordinary blanks, apostrophes and minus signs, and without blanks at its ends."""
    return text.translate(_BLANKS).strip()


def _body(mark: str) -> re.Pattern[str]:
    """Return the pattern of digits with a decimal mark; its groups are the whole part and the decimals."""
    other = re.escape({".": ",", ",": "."}[mark])
    thousands = rf"[1-9]\d{{0,2}}(?:(?P<by>[{other}' ])\d{{3}})(?:(?P=by)\d{{3}})*"
    lakhs = r"|[1-9]\d?(?:,\d\d)+,\d{3}" if mark == "." else ""
    return re.compile(rf"(?P<whole>{thousands}{lakhs}|\d*)(?:{re.escape(mark)}(?P<part>\d*))?", re.ASCII)


_BODIES = {mark: _body(mark) for mark in DECIMAL_MARKS}


@dataclass(frozen=True)
class NumberParts:
    """A number in a text, and how it is written.

    Attributes
    ----------
    number : float
        With its sign.
    before, after : str
        The currency or percent sign, with the blank between it and the digits.
    whole, part : str
        The digits before the decimal mark, with separators of thousands, and those after it.
    bare : bool
        Whether the text consists of digits alone.
    """

    number: float
    before: str
    after: str
    whole: str
    part: str
    bare: bool

    @property
    def affixes(self) -> tuple[str, str]:
        """The currency or percent sign before and after the digits, without blanks."""
        return self.before.strip(), self.after.strip()

    @property
    def thousands(self) -> str:
        """The separator of thousands; empty if there is none."""
        return next((mark for mark in self.whole if not mark.isdigit()), "")


def number_parts(text: str, mark: str) -> NumberParts | None:
    """Read a text as a number with this decimal mark; return None if it is not a number.

    The number may have a currency or percent sign, thousands separated by the other mark, blanks or apostrophes, and,
    if it is negative, a minus sign or parentheses. Digits with leading zeros, such as 007, are a code.

    Examples
    --------
    >>> number_parts("($1,234.50)", ".").number, number_parts("3.456,78 €", ",").number
    (-1234.5, 3456.78)
    >>> number_parts("007", "."), number_parts("1.2.3", "."), number_parts("555-1234", ".")
    (None, None, None)
    """
    text = plain_text(text)
    found = _CELL.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]) or (found["before"] and found["after"]):
        return None
    signs = [sign for sign in (found["sign"], found["inner"], found["open"]) if sign]
    if len(signs) > 1:
        return None
    digits = _BODIES[mark].fullmatch(found["body"].rstrip(" "))
    if digits is None or _CODE.match(digits["whole"]) or not (digits["whole"] or digits["part"]):
        return None
    if found["power"] and (digits["by"] or found["before"] or found["after"]):
        return None
    whole = re.sub(r"\D", "", digits["whole"])
    number = float(f"{whole or 0}.{digits['part'] or 0}{found['power'] or ''}")
    negative = bool(signs) and not signs[0].startswith("+")
    bare = text == whole and not signs
    return NumberParts(
        -number if negative else number, found["before"] or "", found["after"] or "", digits["whole"],
        digits["part"] or "", bare,
    )  # fmt: skip
