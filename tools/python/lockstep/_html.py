"""Results in notebooks: a table and a figure that need no script and no network."""

from __future__ import annotations

import html
import zlib
from typing import Any, List

from lockstep._errors import LockstepError
from lockstep._results import Record, Result

MOST_BYTES = 100_000  # of the whole
_MOST_ROWS = 20
_MOST_COLUMNS = 12
_ENOUGH_COLUMNS = 5
_MOST_FIGURE = 85_000

#: Columns that say most, by command; those of other commands are the first that differ or are set.
_FIRST = (
    "name", "id", "variant", "part", "collective", "algorithm", "rank", "tp", "pp", "cp", "dp",
    "size_bytes", "time_s", "busbw_Bps", "bound_fraction", "limited_by", "step_time_s",
    "expected_step_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "mfu_fraction",
    "peak_memory_bytes", "fits", "status",
)  # fmt: skip

_STEPS = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "bytes": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    "Bps": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "KB/s"), (1, "B/s")),
}


def text_of(name: str, value: Any) -> str:
    """A value for readers, by the unit in its name.

    >>> text_of("step_time_s", 0.0125), text_of("size_bytes", 65536), text_of("mfu_fraction", 0.5)
    ('12.5 ms', '64 KiB', '50 %')
    >>> text_of("tokens_per_s", 72934.5)
    '72,934'
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    unit = "" if name.endswith("_per_s") else name.rpartition("_")[2]
    if unit == "fraction":
        return f"{100 * value:.4g} %"
    for step, suffix in _STEPS.get(unit, ()):
        if abs(value) >= step or suffix in ("ns", "B", "B/s"):
            return f"{value / step:.4g} {suffix}"
    if isinstance(value, float) and abs(value) < 1000:
        return f"{value:.4g}"
    return f"{value:,.0f}"


def _columns(rows: List[Record]) -> List[str]:
    names: List[str] = []
    for row in rows:
        names += [name for name in row if name not in names]
    told = [n for n in names if any(row.get(n) not in (None, "", "none") for row in rows)]
    varied = [n for n in told if len({str(row.get(n)) for row in rows}) > 1]
    ordered = [n for n in _FIRST if n in told]
    rest = [n for n in (varied if len(rows) > 1 else told) if n not in ordered]
    chosen = (ordered + ([] if len(ordered) >= _ENOUGH_COLUMNS else rest))[:_MOST_COLUMNS]
    return [name for name in names if name in chosen]


def _cell(name: str, value: Any) -> str:
    text = text_of(name, value)
    short = text if len(text) <= 80 else text[:79] + "\u2026"
    right = isinstance(value, (int, float)) and not isinstance(value, bool)
    style = "text-align:right;white-space:nowrap" if right else "text-align:left"
    return f'<td style="{style}">{html.escape(short)}</td>'


def table_html(result: Result) -> str:
    rows = list(result.rows or ())
    shown = rows[:_MOST_ROWS]
    columns = _columns(shown)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(_cell(name, row.get(name)) for name in columns) + "</tr>" for row in shown
    )
    more = len(rows) - len(shown)
    note = f"<p>{more} more rows: to_pandas() has all rows and columns.</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def figure_html(result: Result, most: int) -> str:
    """The first figure that is small enough; ids are of this result alone."""
    prefix = f"lockstep-{zlib.crc32(result.to_json().encode()):08x}"
    for kind in result.figures:
        try:
            svg = result.figure(kind, prefix=f"{prefix}-{kind}", compact=True)
        except LockstepError:  # no data for this figure
            continue
        if len(svg.encode()) <= most:
            return f"<div>{svg[svg.index('<svg') :]}</div>"
    return ""


def html_of(result: Result) -> str:
    table = table_html(result)
    head = f"<p><code>lockstep {html.escape(result._call.title)}</code></p>"
    figure = figure_html(result, min(_MOST_FIGURE, MOST_BYTES - len(table.encode()) - 2000))
    return f'<div class="lockstep">{head}{table}{figure}</div>'
