"""Lockstep: a discrete-event simulator of distributed training clusters.

>>> import lockstep
>>> step = lockstep.run("pipeline-1f1b")
>>> f"{step.step_time_s:.4f} s, fits: {step.fits}"
'1.8535 s, fits: True'
"""

from __future__ import annotations

import os as _os

from lockstep import _native, units
from lockstep.commands import (
    campaign,
    collective,
    compare,
    complexity,
    explain,
    export_schedule,
    plan,
    query,
    replay,
    run,
    sensitivity,
    sweep,
    topology,
    validate,
    verify,
    verify_strategy,
)
from lockstep._errors import (
    ConfigError,
    DoesNotFit,
    InternalError,
    LockstepError,
    NegativeResult,
    OutputError,
    Problem,
    RequestError,
)
from lockstep._native import Progress
from lockstep.algorithms import Copy, Receive, Schedule, Send, receive, schedule, send
from lockstep.inputs import Campaign, Cluster, Device, Model, Scenario
from lockstep.lists import (
    list_algorithms,
    list_campaigns,
    list_clusters,
    list_devices,
    list_models,
    list_precisions,
    list_scenarios,
    list_spaces,
    list_stacks,
    list_topologies,
)
from lockstep.topologies import cluster_from_edges, cluster_from_graph

__all__ = [
    "Campaign",
    "Cluster",
    "ConfigError",
    "Copy",
    "Device",
    "DoesNotFit",
    "InternalError",
    "LockstepError",
    "Model",
    "NegativeResult",
    "OutputError",
    "Problem",
    "Progress",
    "Receive",
    "RequestError",
    "Scenario",
    "Schedule",
    "Send",
    "campaign",
    "cluster_from_edges",
    "cluster_from_graph",
    "collective",
    "compare",
    "complexity",
    "explain",
    "export_schedule",
    "list_algorithms",
    "list_campaigns",
    "list_clusters",
    "list_devices",
    "list_models",
    "list_precisions",
    "list_scenarios",
    "list_spaces",
    "list_stacks",
    "list_topologies",
    "plan",
    "query",
    "receive",
    "replay",
    "run",
    "schedule",
    "send",
    "sensitivity",
    "sweep",
    "topology",
    "units",
    "validate",
    "verify",
    "verify_strategy",
]

__version__: str = _native.version


def _use_installed_configs() -> None:
    """The configs of the same `cmake --install`, unless LOCKSTEP_CONFIGS names others."""
    # Next to the command, whose folder the installed package is below.
    folder = _os.path.dirname(_os.path.abspath(__file__))
    while not _os.environ.get("LOCKSTEP_CONFIGS"):
        configs = _os.path.join(folder, "share", "lockstep", "configs")
        if _os.path.isdir(_os.path.join(configs, "clusters")):
            _native.use_config_folder(configs)
            return
        above = _os.path.dirname(folder)
        if above == folder:
            return
        folder = above


_use_installed_configs()
