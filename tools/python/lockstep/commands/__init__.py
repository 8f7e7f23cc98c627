# Written by tools/python/write_commands.py from the options of the command line.
"""The functions that simulate, one for each command."""

from __future__ import annotations

from lockstep.commands.campaign import campaign
from lockstep.commands.collective import collective
from lockstep.commands.compare import compare
from lockstep.commands.complexity import complexity
from lockstep.commands.explain import explain
from lockstep.commands.export_schedule import export_schedule
from lockstep.commands.plan import plan
from lockstep.commands.query import query
from lockstep.commands.replay import replay
from lockstep.commands.run import run
from lockstep.commands.sensitivity import sensitivity
from lockstep.commands.sweep import sweep
from lockstep.commands.topology import topology
from lockstep.commands.validate import validate
from lockstep.commands.verify import verify
from lockstep.commands.verify_strategy import verify_strategy

__all__ = [
    "campaign",
    "collective",
    "compare",
    "complexity",
    "explain",
    "export_schedule",
    "plan",
    "query",
    "replay",
    "run",
    "sensitivity",
    "sweep",
    "topology",
    "validate",
    "verify",
    "verify_strategy",
]
