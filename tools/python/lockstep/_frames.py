"""Tables as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

from lockstep import _native

if TYPE_CHECKING:
    import pandas  # type: ignore[import]


def frame_of(table: _native.Table) -> "pandas.DataFrame":
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas() needs pandas; to_dict() and table() do without") from None
    columns: Dict[str, Any] = {}
    for name, kind in table.types.items():
        if kind == "float64":
            columns[name] = table.view(name)
        elif kind == "int64":
            values = table.values(name)
            absent = any(value is None for value in values)
            columns[name] = pandas.array(values, dtype="Int64") if absent else table.view(name)
        elif kind == "bool":
            values = table.values(name)
            absent = any(value is None for value in values)
            columns[name] = pandas.array(values, dtype="boolean") if absent else values
        else:
            columns[name] = table.values(name)
    return pandas.DataFrame(columns, columns=list(table.types), index=range(table.rows))
