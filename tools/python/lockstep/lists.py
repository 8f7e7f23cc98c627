"""What is shipped: `lockstep list`."""

from __future__ import annotations

from typing import Optional

from lockstep._call import command, execute
from lockstep.results import ListResult

__all__ = [
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
]

_LIST = (("registry", "", "text"), ("name", "", "text"), ("algorithm", "", "text"))


@command(ListResult, "list", _LIST)
def _listed(
    registry: str, name: Optional[str] = None, algorithm: Optional[str] = None
) -> ListResult:
    return execute(ListResult, "list", _LIST, locals(), None)


def list_algorithms(
    collective: Optional[str] = None, algorithm: Optional[str] = None
) -> ListResult:
    """Collective algorithms: of all collectives, of one, or one algorithm with its properties.

    >>> "ring" in [row.name for row in list_algorithms("all_reduce").rows]
    True
    """
    return _listed("algorithms", collective, algorithm)


def list_clusters(name: Optional[str] = None) -> ListResult:
    """Shipped clusters, or the parameters of one with their sources."""
    return _listed("clusters", name)


def list_devices(name: Optional[str] = None) -> ListResult:
    """Shipped devices, or the parameters of one with their sources."""
    return _listed("devices", name)


def list_models(name: Optional[str] = None) -> ListResult:
    """Shipped models, or the parameters of one; also of a config.json of Hugging Face."""
    return _listed("models", name)


def list_scenarios(name: Optional[str] = None) -> ListResult:
    """Shipped scenarios, or the values of one."""
    return _listed("scenarios", name)


def list_stacks(name: Optional[str] = None) -> ListResult:
    """Shipped software stacks, or the parameters of one."""
    return _listed("stacks", name)


def list_precisions(name: Optional[str] = None) -> ListResult:
    """Shipped precision recipes, or the parameters of one."""
    return _listed("precisions", name)


def list_spaces(name: Optional[str] = None) -> ListResult:
    """Shipped spaces of layouts, or the axes of one."""
    return _listed("spaces", name)


def list_campaigns(name: Optional[str] = None) -> ListResult:
    """Shipped campaigns, or the values of one."""
    return _listed("campaigns", name)


def list_topologies() -> ListResult:
    """Builders of topologies with their parameters."""
    return _listed("topologies")
