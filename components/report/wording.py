"""Numbers, shares, times and foreign text as a report writes them."""

import json
import unicodedata
from typing import Any


def number(value: float) -> str:
    """1234567 -> "1,234,567"; 0.28312 -> "0.283"; 1e-7 -> "1e-07"."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def precise(value: float) -> str:
    """Four significant digits, to tell scores on both sides of a threshold apart: 0.27968 -> "0.2797"."""
    return number(value) if float(value).is_integer() else f"{value:.4g}"


def percent(share: float) -> str:
    """0.1234 -> "12.3%". Never "0.0%" or "100.0%" unless it is exactly that."""
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return f"{100 * share:.1f}%"


def duration(seconds: float) -> str:
    """0.42 -> "0.4 s"; 75 -> "1 min 15 s"; 7322 -> "2 h 2 min"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{minutes // 60} h {minutes % 60} min"


def option_value(value: Any) -> str:
    """An option's value as JSON writes it; text without quotes, an empty one as ∅."""
    if isinstance(value, str):
        return value or "∅"
    return json.dumps(value, ensure_ascii=False, default=str)


def printable(text: str) -> str:
    """Text from outside without characters that are invalid or that act on the text around them.

    Control characters become spaces; bidirectional overrides and isolates are dropped.
    """
    if text.isprintable():
        return text
    kept = []
    for character in text:
        category = unicodedata.category(character)
        if category == "Cc":
            kept.append(" ")
        elif category not in ("Cs", "Cn") and not (category == "Cf" and _is_bidi(character)):
            kept.append(character)
    return "".join(kept)


def _is_bidi(character: str) -> bool:
    return "\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069"
