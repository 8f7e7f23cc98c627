# Written by tools/python/write_commands.py from the options of the command line.
from __future__ import annotations

from typing import Optional

from lockstep._call import OnProgress, command, execute
from lockstep.commands._types import (
    Text,
    Texts,
)
from lockstep.results import ValidateResult

_VALIDATE = (
    ("files", "", "texts"),
    ("group", "--group", "text"),
    ("core", "--core", "flag"),
    ("quantity", "--quantity", "text"),
    ("limit", "--limit", "integer"),
    ("stack", "--stack", "text"),
    ("calibration", "--calibration", "text"),
    ("residuals", "--residuals", "text"),
    ("rows", "--rows", "flag"),
)


@command(ValidateResult, "validate", _VALIDATE)
def validate(
    files: Texts,
    *,
    group: Optional[Text] = None,
    core: bool = False,
    quantity: Optional[Text] = None,
    limit: Optional[int] = None,
    stack: Optional[Text] = None,
    calibration: Optional[Text] = None,
    residuals: Optional[Text] = None,
    rows: bool = False,
    progress: Optional[OnProgress] = None,
) -> ValidateResult:
    """Simulate published measurements and print the relative errors.

    The command `lockstep validate`.

    files: Files of measured training runs, collective tables and device tables
        (configs/schema/measured.schema.json)
    group: Simulate only the training runs of this group, or the table with this id
    core: Simulate only the training runs of the short suite
    quantity: Only step_time, layer_forward, layer_backward, peak_memory, collective_time,
        bus_bandwidth, gemm_time, gemm_rate, attention_time, memory_rate, launch_time or
        kernel_time
    limit: Maximum number of runs and tables
    stack: Software stack of all runs (default: the row's, else by framework)
    calibration: Calibration file that overrides the shipped parameters
    residuals: File to write step-time errors with the features of each run to; `run`
        computes prediction intervals from it
    rows: Print every row of tables (default: the worst ones)
    progress: Called with a `Progress` while it runs; what it raises ends the run
    """
    return execute(ValidateResult, "validate", _VALIDATE, locals(), progress)
