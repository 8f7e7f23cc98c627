# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Text,
)
from lockstep.results import QueryResult

_QUERY = (
    ("store", "", "text"),
    ("sql", "", "text"),
)


@command(QueryResult, "query", _QUERY)
def query(
    store: Text,
    sql: Text,
    progress: Optional[OnProgress] = None,
) -> QueryResult:
    """Read a store of `lockstep plan` or `sweep` with SQL.

    The command `lockstep query`.

    store: Store of `plan --store`, `sweep --store` or `merge`
    sql: One SELECT of SQLite; the file is only read
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(QueryResult, "query", _QUERY, locals(), progress)
