"""Scenarios, clusters, devices and models that are built in Python or read from files.

Whatever takes one of these takes a dict, the name of a shipped one or a file as well.
"""

from __future__ import annotations

import json
import os
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Iterable,
    Mapping,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from lockstep import _native, units
from lockstep._errors import RequestError

if TYPE_CHECKING:
    from lockstep._results import Result

__all__ = ["Campaign", "Cluster", "Device", "Model", "Scenario"]

_Self = TypeVar("_Self", bound="Document")
Path = Union[str, "os.PathLike[str]"]


class Memory:
    """Documents that a call passes to the native part, by the name they are read under."""

    def __init__(self) -> None:
        self.texts: Dict[str, str] = {}

    def add(self, kind: str, text: str, ending: str = "json") -> str:
        name = f"<{kind}-{_native.hash_of(text)}>.{ending}"
        self.texts[name] = text
        return name


class Document:
    """A config: keys and values as its file has them; numbers may have units in their names."""

    _kind = "document"
    __slots__ = ("_values",)
    _values: Dict[str, Any]

    def __init__(self, values: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        merged: Dict[str, Any] = {**(values or {}), **more}
        object.__setattr__(self, "_values", {k: v for k, v in merged.items() if v is not None})

    @classmethod
    def from_file(cls: Type[_Self], path: Path) -> _Self:
        """Reads a JSON file; it is checked when it is used."""
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
        if not isinstance(values, dict):
            raise RequestError(f"{os.fspath(path)}: expected a JSON object")
        return cls(values)

    @classmethod
    def shipped(cls: Type[_Self], name: str) -> _Self:
        """A shipped one by the name of its file.

        >>> Cluster.shipped("dgx-h100")["device"]
        'h100-sxm5-80gb'
        """
        path = os.path.join(_native.config_folder(), f"{cls._kind}s", f"{name}.json")
        if not os.path.exists(path):
            raise RequestError(f'no {cls._kind} "{name}"; list_{cls._kind}s() shows all', cls._kind)
        return cls.from_file(path)

    def to_dict(self) -> Dict[str, Any]:
        """Keys and values as in a file, quantities as texts with units."""
        out = units.with_units(plain(self._values))
        assert isinstance(out, dict)
        return out

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def save(self, path: Path) -> None:
        """Writes it as a file for the command line."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} does not change; replace() makes another")

    def __getstate__(self) -> Dict[str, Any]:
        return self._values

    def __setstate__(self, state: Dict[str, Any]) -> None:
        object.__setattr__(self, "_values", state)

    def replace(self: _Self, **changes: Any) -> _Self:
        """A copy with other values; None removes a key."""
        return type(self)({**self._values, **changes})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Document) or type(other) is not type(self):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self._values.items())
        return f"{type(self).__name__}({inside})"


class Device(Document):
    """A GPU or another device, as in configs/devices."""

    _kind = "device"
    __slots__ = ()


class Model(Document):
    """A model, as in configs/models.

    >>> Model(file="llama3-8b", layers=4).to_dict()
    {'file': 'llama3-8b', 'layers': 4}
    """

    _kind = "model"
    __slots__ = ()

    def _refers(self) -> bool:
        """Whether it is another model with changes."""
        return "file" in self._values


class Campaign(Document):
    """Failures, checkpoints and costs of a training, as in configs/campaigns."""

    _kind = "campaign"
    __slots__ = ()


class Cluster(Document):
    """A cluster, as in configs/clusters; `device` may be a `Device`."""

    _kind = "cluster"
    __slots__ = ()


class Scenario(Document):
    """A model, a cluster and a parallel layout, as in configs/scenarios. `cluster` and `model` are
    names of shipped ones, files, dicts as in a scenario file, or objects of these classes.

    >>> Scenario(cluster="dgx-h100", model="llama3-8b", nodes=2,
    ...          parallel={"tp": 8, "global_batch": 64}).to_dict()["cluster"]
    {'file': 'dgx-h100', 'nodes': 2}
    """

    _kind = "scenario"
    __slots__ = ()

    def __init__(
        self,
        values: Optional[Mapping[str, Any]] = None,
        *,
        cluster: Union[str, Cluster, Mapping[str, Any], None] = None,
        model: Union[str, Model, Mapping[str, Any], None] = None,
        parallel: Optional[Mapping[str, Any]] = None,
        nodes: Optional[int] = None,
        ranks: Optional[int] = None,
        **more: Any,
    ) -> None:
        of: Dict[str, Any] = dict(values or {})
        if cluster is not None:
            whole = isinstance(cluster, (str, Cluster)) or _is_whole_cluster(cluster)
            of["cluster"] = {"file": cluster} if whole else cluster
        size = {k: v for k, v in (("nodes", nodes), ("ranks", ranks)) if v is not None}
        if size:
            of["cluster"] = {**of.get("cluster", {}), **size}
        if model is not None:
            whole = isinstance(model, str) or (isinstance(model, Model) and not model._refers())
            of["model"] = {"file": model} if whole else model
        if parallel is not None:
            of["parallel"] = parallel
        of.setdefault("name", "scenario")
        super().__init__(of, **more)


ScenarioLike = Union[str, "os.PathLike[str]", Mapping[str, Any], Scenario, "Result"]
ClusterLike = Union[str, "os.PathLike[str]", Mapping[str, Any], Cluster, Scenario]
ModelLike = Union[str, "os.PathLike[str]", Mapping[str, Any], Model]
CampaignLike = Union[str, "os.PathLike[str]", Mapping[str, Any], Campaign]


def plain(value: Any) -> Any:
    """Without the classes of this module."""
    if isinstance(value, Document):
        return plain(value._values)
    if isinstance(value, Mapping):
        return {key: plain(of) for key, of in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return plain_number(value)


def plain_number(value: Any) -> Any:
    """A number or an array of numpy as numbers and lists of Python."""
    return value.tolist() if hasattr(value, "dtype") and hasattr(value, "tolist") else value


def _is_whole_cluster(value: object) -> bool:
    """As in configs/clusters; a scenario's own has "gpu", or "file" and changes of that."""
    return isinstance(value, Cluster) or (
        isinstance(value, Mapping) and "device" in value and not {"gpu", "file"} & set(value)
    )


def _linked(values: Mapping[str, Any], memory: Memory) -> Dict[str, Any]:
    """With the name of a document in memory for every file that is an object of this module."""
    out: Dict[str, Any] = {}
    for key, of in values.items():
        if key in ("device", "gpu") and isinstance(of, (Device, Mapping)):
            out[key] = _stored("device", of, memory)[: -len(".json")]
        elif key == "cluster" and _is_whole_cluster(of):
            out[key] = {"file": _stored("cluster", of, memory)}
        elif key == "model" and isinstance(of, Model) and not of._refers():
            out[key] = {"file": _stored("model", of, memory)}
        elif key == "file" and isinstance(of, (Cluster, Model)):
            out[key] = _stored(of._kind, of, memory)
        elif key == "file" and isinstance(of, Mapping):
            out[key] = _stored("cluster" if _is_whole_cluster(of) else "model", of, memory)
        elif isinstance(of, Document):
            out[key] = _linked(of._values, memory)
        elif isinstance(of, Mapping):  # part of another document, which has a schema of its own
            out[key] = {k: v for k, v in _linked(of, memory).items() if k != "$schema"}
        else:
            out[key] = plain(of)
    return out


def _not_json(value: Any, pointer: str = "") -> Tuple[str, Any]:
    """The place of a value that JSON does not have, and that value."""
    parts: Iterable[Tuple[Any, Any]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for key, of in parts:
        try:
            json.dumps({key: of}, allow_nan=False)
        except (TypeError, ValueError):
            return _not_json(of, f"{pointer}/{key}")
    return pointer, value


def _stored(kind: str, values: Union[Document, Mapping[str, Any]], memory: Memory) -> str:
    of = values._values if isinstance(values, Document) else values
    document = units.with_units(_linked(of, memory))
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        pointer, wrong = _not_json(document)
        place = f"{kind}: {pointer}" if pointer else kind
        raise RequestError(f"{place}: expected a value of JSON, got {wrong!r}", kind) from None
    return memory.add(kind, text + "\n")


def word_of(kind: str, value: object, memory: Memory) -> str:
    """What the native part is given for a scenario, cluster, model, device or campaign."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, Document):
        return _stored(value._kind, value, memory)
    if isinstance(value, Mapping):
        return _stored(kind, value, memory)
    as_document = getattr(value, "_as_document", None)
    if as_document is not None and kind == "scenario":  # a result, which is simulated again
        text, documents = as_document()
        memory.texts.update(documents)
        return memory.add("result", text)
    raise RequestError(
        f"{kind}: expected a name, a path, a dict or a {kind.capitalize()}, "
        f"got {type(value).__name__}",
        kind,
    )
