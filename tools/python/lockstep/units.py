"""Quantities: texts with a unit, or numbers with the unit in their name.

>>> parse("400 Gb/s")
50000000000.0
>>> parse(bandwidth_Gbps=400)
50000000000.0
>>> parse("64 MiB")
67108864
>>> quantity(latency_us=1.5)
'1.5 us'
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Mapping, Tuple, Union

from lockstep import _native
from lockstep._errors import RequestError

__all__ = ["dimension", "parse", "quantity", "with_units"]

_BYTES = ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")
_BITS = ("b", "kb", "Mb", "Gb", "Tb")
_FLOPS = ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP")

#: Unit by the suffix of a name: GBps, Gbps, us, MiB, ...
SUFFIXES: Mapping[str, str] = {
    "bytes": "B",
    **{unit: unit for unit in ("s", "ms", "us", "ns", "ps")},
    **{unit: unit for unit in _BYTES if unit != "B"},
    **{f"{unit}ps": f"{unit}/s" for unit in _BYTES + _BITS},
    **{f"{unit}ps": f"{unit}/s" for unit in _FLOPS},
}


def _split(name: str) -> Tuple[str, str]:
    """Name and unit of "bandwidth_GBps"; no unit: ""."""
    base, mark, suffix = name.rpartition("_")
    return (base, SUFFIXES[suffix]) if mark and base and suffix in SUFFIXES else (name, "")


def unit_of(name: str) -> str:
    """The unit that a name says: "GB/s" of bandwidth_GBps; empty: none."""
    return _split(name)[1]


def _text(number: Union[int, float], unit: str) -> str:
    from decimal import Decimal  # no exponent, all digits

    return f"{format(Decimal(repr(number)), 'f')} {unit}"


def quantity(**named: Union[int, float]) -> str:
    """The text of one number with its unit in its name, as config files have it.

    >>> quantity(bandwidth_GBps=50)
    '50 GB/s'
    """
    if len(named) != 1:
        raise RequestError(f"expected one quantity such as bandwidth_GBps=50, got {len(named)}")
    ((name, number),) = named.items()
    _, unit = _split(name)
    if not unit:
        raise RequestError(
            f"{name}: expected a name that ends in a unit, such as _GBps, _us or _MiB", name
        )
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise RequestError(f"{name}: expected a number, got {number!r}", name)
    if not isfinite(number):
        raise RequestError(f"{name}: expected a finite number, got {number!r}", name)
    return _text(number, unit)


def _refused(text: object) -> RequestError:
    """With what was meant: "400 Gbps" is "400 Gb/s"."""
    import re

    written = f'"{text}"' if isinstance(text, str) else repr(text)
    meant = re.sub(r"([bB])ps$", r"\1/s", text) if isinstance(text, str) else ""
    is_close = meant != text and meant and _native.parse_quantity(meant) is not None
    return RequestError(
        'expected a quantity such as "400 Gb/s", "2 us", "64 MiB" or "989 TFLOP/s", '
        f"got {written}" + (f'; did you mean "{meant}"?' if is_close else "")
    )


def parse(text: str = "", **named: Union[int, float]) -> Union[int, float]:
    """The value in bytes, seconds, bytes per second or FLOP/s of a text with a unit, or of a number
    with the unit in its name. Bits and bytes, and powers of 1000 and of 1024, are distinguished.

    >>> parse("2 us"), parse("1 KiB"), parse("1 kB")
    (2e-06, 1024, 1000)
    >>> parse("50")
    Traceback (most recent call last):
      ...
    lockstep._errors.RequestError: expected a quantity such as "400 Gb/s", "2 us", "64 MiB" or \
"989 TFLOP/s", got "50"
    """
    if named:
        if text:
            raise RequestError("expected a text or a named number, got both")
        text = quantity(**named)
    found = _native.parse_quantity(text) if isinstance(text, str) else None
    if found is None:
        raise _refused(text)
    return found[1]


def dimension(text: str) -> str:
    """What a text is: "bytes", "time", "rate" or "flop_rate".

    >>> dimension("400 Gb/s")
    'rate'
    """
    found = _native.parse_quantity(text) if isinstance(text, str) else None
    if found is None:
        raise _refused(text)
    return found[0]


def with_units(value: Any) -> Any:
    """A copy of a config in which numbers with units in their names are texts with units.

    >>> with_units({"links": [{"bandwidth_GBps": 50, "latency": "2 us"}]})
    {'links': [{'bandwidth': '50 GB/s', 'latency': '2 us'}]}
    """
    if isinstance(value, Mapping):
        out: dict[str, Any] = {}
        for key, of in value.items():
            name, unit = _split(key) if isinstance(key, str) else (key, "")
            is_number = isinstance(of, (int, float)) and not isinstance(of, bool)
            if unit and is_number and isfinite(of):
                if name in value or name in out:
                    raise RequestError(f"{key} and {name} are both given", key)
                out[name] = _text(of, unit)
            else:
                out[key] = with_units(of)
        return out
    if isinstance(value, (list, tuple)):
        return [with_units(each) for each in value]
    return value
