"""Types of the keywords of commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence, Tuple, Union

from lockstep.inputs import CampaignLike, ClusterLike, ModelLike, ScenarioLike

if TYPE_CHECKING:
    from lockstep.algorithms import Schedule

__all__ = [
    "Assignments",
    "CampaignLike",
    "ClusterLike",
    "ModelLike",
    "Pairs",
    "ScenarioLike",
    "ScenariosLike",
    "SchedulesLike",
    "Text",
    "Texts",
]

#: A text, a number in the unit that the help names, or a path.
Text = Union[str, int, float, "os.PathLike[str]"]
#: One or several.
Texts = Union[Text, Iterable[Text]]
#: {"parallel.tp": 4}, "parallel.tp=4", or a list of such texts.
Assignments = Union[Mapping[str, Any], str, Iterable[str]]
#: {"rail0": "bandwidth=200 Gb/s"}, {"rail0": {"bandwidth": "200 Gb/s"}}, or pairs.
Pairs = Union[Mapping[Any, Any], Iterable[Tuple[Any, Any]]]
ScenariosLike = Union[ScenarioLike, Sequence[ScenarioLike]]
ScheduleLike = Union[str, "os.PathLike[str]", "Schedule"]
SchedulesLike = Union[ScheduleLike, Sequence[ScheduleLike]]
