"""Results: frozen, with units in the names of their attributes."""

from __future__ import annotations

import json
import os
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Generic,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    NoReturn,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    overload,
)

from lockstep import _native
from lockstep._errors import shown

if TYPE_CHECKING:
    import numpy
    import pandas  # type: ignore[import]
    from numpy.typing import NDArray

T = TypeVar("T")
_Self = TypeVar("_Self", bound="Result")


class Call(NamedTuple):
    """What a result came from."""

    words: Tuple[str, ...]
    documents: Tuple[Tuple[str, str], ...]

    @property
    def command(self) -> str:
        """Its name: "verify collective"."""
        return " ".join(self.words[: self._begin()])

    def _begin(self) -> int:
        """Of the options."""
        return next(i for i, word in enumerate(self.words) if word.startswith("-"))

    @property
    def title(self) -> str:
        """The command with its positional arguments: "run pipeline-1f1b"."""
        begin = self._begin()
        end = self.words.index("--") + 1 if "--" in self.words else len(self.words)
        return shown(" ".join((*self.words[:begin], *self.words[end:])))


class Record(Mapping[str, Any]):
    """A frozen object of a result: keys are attributes as well, lists are tuples.

    >>> Record({"peak_bytes": 5}).peak_bytes
    5
    """

    __slots__ = ("_values",)
    _values: Mapping[str, Any]

    def __init__(self, values: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return _frozen(self._values[name])
        except KeyError:
            names = ", ".join(self._values)
            raise AttributeError(f"no {name!r}; there are: {names}") from None

    def __getitem__(self, key: str) -> Any:
        return _frozen(self._values[key])

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("results do not change")

    def __reduce__(self) -> Tuple[Any, ...]:
        return Record, (self._values,)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={_frozen(value)!r}" for key, value in self._values.items())
        return f"Record({inside})"


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    return value


class Value(Generic[T]):
    """A member of the result's JSON as an attribute."""

    def __init__(self, doc: str = "") -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._key = name

    @overload
    def __get__(self, of: None, owner: type) -> "Value[T]": ...

    @overload
    def __get__(self, of: "Result", owner: type) -> T: ...

    def __get__(self, of: Optional["Result"], owner: type) -> Union["Value[T]", T]:
        if of is None:
            return self
        found: T = _frozen(of._document.get(self._key))
        return found


#: Results refuse changes from outside.
_set = object.__setattr__


class Result(_native.Kept):
    """The result of a command. Its JSON is that of the command line, byte for byte."""

    __slots__ = ()

    fingerprint = Value[str]("Hash of all times of the result.")
    seed = Value[int]("Seed of random draws.")
    rows = Value[Tuple[Record, ...]]("The rows of the command's table.")
    config = Value[Record]("The configuration with every default.")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name}: results do not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name}: results do not change")

    @property
    def _call(self) -> Call:
        if "call" not in self._kept:
            answer = self._answer
            documents = tuple((name, text) for name, text in answer.documents)
            self._kept["call"] = Call(tuple(answer.words), documents)
        call: Call = self._kept["call"]
        return call

    @property
    def _answer(self) -> _native.Answer:
        """Simulated again where the result came out of a pickle."""
        answer = self._answered
        if answer is None:
            call: Call = self._kept["call"]
            answer = _native.call(call.words, call.documents, None)
            _set(self, "_answered", answer)
        return answer

    @property
    def _text(self) -> str:
        if "text" not in self._kept:
            self._kept["text"] = self._answer.text
        text: str = self._kept["text"]
        return text

    @property
    def notes(self) -> Tuple[str, ...]:
        """What the command line writes to stderr: assumptions, keys without effect."""
        if "notes" not in self._kept:
            self._kept["notes"] = tuple(self._answer.notes)
        notes: Tuple[str, ...] = self._kept["notes"]
        return notes

    @property
    def _document(self) -> Dict[str, Any]:
        if "document" not in self._kept:
            self._kept["document"] = json.loads(self._text)
        document: Dict[str, Any] = self._kept["document"]
        return document

    def _as_document(self) -> Tuple[str, Sequence[Tuple[str, str]]]:
        """Its JSON as a scenario, with the documents that it names."""
        documents = self._call.documents
        return (self._answer.source if documents else self._text), documents

    def to_json(self) -> str:
        """What the command line prints with --format json."""
        return self._text

    def to_dict(self) -> Dict[str, Any]:
        """The same as a dict of its own."""
        out: Dict[str, Any] = json.loads(self._text)
        return out

    @property
    def tables(self) -> Tuple[str, ...]:
        """Names for `to_pandas()`, `column()` and `table()`; the first is the default."""
        return tuple(self._answer.tables)

    def table(self, name: str = "rows") -> _native.Table:
        """Rows as columns, with `__arrow_c_stream__` and views of numbers."""
        tables: Dict[str, _native.Table] = self._kept.setdefault("tables", {})
        if name not in tables:
            if name not in self._document:
                raise KeyError(f"{name}; there are: {', '.join(self.tables)}")
            tables[name] = self._answer.table(name)
        return tables[name]

    def column(self, name: str, table: str = "rows") -> "NDArray[numpy.generic]":
        """Numbers of a column as a numpy array: a read-only view without a copy, NaN for absent
        reals. Columns of texts and truth values, and integers that may be absent, have
        `table().values()`."""
        return self.table(table).view(name)

    def to_pandas(self, table: str = "rows") -> "pandas.DataFrame":
        """A table as a DataFrame, with the columns of the JSON."""
        from lockstep._frames import frame_of

        return frame_of(self.table(table))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows by the Arrow C data interface, for pyarrow, polars or duckdb; no copy."""
        return self.table("rows").__arrow_c_stream__(requested_schema)

    @property
    def figures(self) -> Tuple[str, ...]:
        """Kinds for `figure()`."""
        return tuple(self._answer.figures)

    def figure(self, kind: str = "", *, prefix: str = "lockstep", compact: bool = False) -> str:
        """A figure as SVG, drawn as by --plot. `prefix`: of ids; figures of one page need different
        ones. `compact`: without tooltips."""
        kinds = self.figures
        if not kinds:
            raise KeyError(f"a {type(self).__name__} has no figures")
        if kind and kind not in kinds:
            raise KeyError(f"{kind}; there are: {', '.join(kinds)}")
        return self._answer.figure(kind or kinds[0], prefix, compact)

    def save_report(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page of --report, one HTML file that needs no network."""
        page = self._answer.page()
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)

    def plot(self, kind: str = "", ax: Any = None) -> Any:
        """Draws with matplotlib, which must be installed; returns the Axes. `figure()` needs no
        matplotlib."""
        from lockstep._plot import plot

        return plot(self, kind, ax)

    def _repr_html_(self) -> str:
        from lockstep._html import html_of

        return html_of(self)

    def __repr__(self) -> str:
        count = len(self.rows or ())
        rows = f"{count} row{'' if count == 1 else 's'}"
        return f"<{type(self).__name__} of `{self._call.title}`: {rows}>"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._text == other._text  # type: ignore

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _restored, (type(self), self._call, self._text, self.notes)


def _restored(
    kind: Type[_Self], call: Call, text: str, notes: Tuple[str, ...]
) -> _Self:
    out = kind()
    out._kept.update(call=call, text=text, notes=notes)
    return out


def answered(kind: Type[_Self], answer: _native.Answer) -> _Self:
    """The result of an answer."""
    out = kind()
    _set(out, "_answered", answer)
    return out
