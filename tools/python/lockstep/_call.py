"""From keywords to the words of a command, and its answer back."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar

from lockstep import _native
from lockstep._errors import ConfigError, NegativeResult, RequestError
from lockstep._results import Call, Result
from lockstep.inputs import Memory, word_of

OnProgress = Callable[[_native.Progress], object]

#: keyword, option with its other names ("" for a positional argument), kind of the value
Options = Sequence[Tuple[str, str, str]]

_Result = TypeVar("_Result", bound=Result)
_DOCUMENTS = ("scenario", "cluster", "model", "device", "campaign")


def _text(keyword: str, value: object) -> str:
    """A value as a word."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    raise RequestError(
        f"{keyword}: expected a text or a number, got {type(value).__name__}", keyword
    )


def _setting(value: object) -> str:
    """The right side of KEY=VALUE: JSON, texts without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def _items(keyword: str, value: object) -> List[object]:
    if isinstance(value, (str, bytes, int, float, os.PathLike, Mapping)) or not hasattr(
        value, "__iter__"
    ):
        return [value]
    return list(value)


def _assignments(keyword: str, value: object) -> List[str]:
    """KEY=VALUE of a mapping, or as written."""
    if isinstance(value, Mapping):
        return [f"{key}={_setting(of)}" for key, of in value.items()]
    return [_text(keyword, each) for each in _items(keyword, value)]


def _varied(value: object) -> object:
    """Lists of values as texts: {"pp": [1, 2]} is {"pp": "1,2"}."""
    if not isinstance(value, Mapping):
        return value
    return {
        key: ",".join(map(_setting, of)) if isinstance(of, (list, tuple, range)) else of
        for key, of in value.items()
    }


def _pairs(keyword: str, value: object) -> List[Tuple[str, str]]:
    """Two words each: of a mapping, or of a list of pairs."""
    items = value.items() if isinstance(value, Mapping) else _items(keyword, value)
    out = []
    for each in items:
        if isinstance(each, str) or not isinstance(each, Sequence) or len(each) != 2:
            raise RequestError(f"{keyword}: expected a dict or pairs, got {each!r}", keyword)
        first, second = each
        text = (
            ",".join(_assignments(keyword, second))
            if isinstance(second, Mapping)
            else _text(keyword, second)
        )
        out.append((_text(keyword, first), text))
    return out


def _range(value: object, keyword: str) -> str:
    if isinstance(value, range):
        if value.step != 1 or not value:
            raise RequestError(f"{keyword}: expected a range of step 1, got {value!r}", keyword)
        return f"{value.start}..{value.stop - 1}"
    return _joined(value, keyword, "..")


def _joined(value: object, keyword: str, by: str) -> str:
    return by.join(_text(keyword, each) for each in _items(keyword, value))


def _value_words(keyword: str, option: str, kind: str, value: object, memory: Memory) -> List[str]:
    """The words of one keyword."""

    def named(texts: Sequence[str]) -> List[str]:
        # One word, so that a text that begins with a dash is no option.
        return [f"{option}={text}" if option.startswith("--") else text for text in texts]

    if kind == "flag":
        if not isinstance(value, bool):
            raise RequestError(f"{keyword}: expected True or False, got {value!r}", keyword)
        return [option] if value else []
    if kind in _DOCUMENTS:
        return named([word_of(kind, value, memory)])
    if kind == "scenarios":
        return named([word_of("scenario", each, memory) for each in _items_of(value)])
    if kind == "schedules":
        return named([_schedule_word(each, memory) for each in _items_of(value)])
    if kind == "integer":
        if isinstance(value, bool) or not isinstance(value, int):
            raise RequestError(f"{keyword}: expected an integer, got {value!r}", keyword)
        return named([str(value)])
    if kind == "assignments":
        return named(_assignments(keyword, value))
    if kind == "vary":
        return named(_assignments(keyword, _varied(value)))
    if kind == "settings":
        return named([",".join(_assignments(keyword, value))])
    if kind == "pairs":
        return [word for pair in _pairs(keyword, value) for word in (option, *pair)]
    if kind == "texts":
        return named([_text(keyword, each) for each in _items(keyword, value)])
    if kind == "list":
        return named([_joined(value, keyword, ",")])
    if kind == "range":
        return named([_range(value, keyword)])
    if kind == "dimensions":
        return named([_joined(value, keyword, "x")])
    return named([_text(keyword, value)])


def _items_of(value: object) -> List[object]:
    """One scenario or schedule, or a list of them."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _schedule_word(value: object, memory: Memory) -> str:
    text = getattr(value, "to_msccl", None)
    return memory.add("schedule", text(), "xml") if text else os.fspath(value)  # type: ignore


def _words(command: str, options: Options, given: Mapping[str, Any], memory: Memory) -> List[str]:
    positional: List[str] = []
    named: List[str] = []
    for keyword, option, kind in options:
        value = given[keyword]
        if value is None or value is False:
            continue
        words = _value_words(keyword, option.split(",")[0], kind, value, memory)
        (named if option else positional).extend(words)
    tail = ["--", *positional] if positional else []
    return [*command.split(), *named, "--format=json", *tail]


def _in_keywords(message: str, options: Options) -> str:
    """A message of the command line with its options as keywords."""
    names = {name: keyword for keyword, option, _ in options for name in option.split(",") if name}

    def keyword(found: "re.Match[str]") -> str:
        return names.get(found[0], found[0])

    return re.sub(r"(?<![\w-])--?[a-z][a-z-]*", keyword, message)


def execute(
    result: Type[_Result],
    command: str,
    options: Options,
    given: Mapping[str, Any],
    progress: Optional[OnProgress],
) -> _Result:
    """Runs a command; `given` has a value for each keyword."""
    memory = Memory()
    words = _words(command, options, given, memory)
    call = Call(tuple(words), tuple(memory.texts.items()))
    try:
        answer = _native.call(words, call.documents, progress)
        if not answer.text.startswith("{"):
            raise RequestError(
                f"{command}: with these keywords the command prints no result but a text; "
                "use the command line for it"
            )
        return result(call, answer)
    except ConfigError as error:
        error._with_documents(memory.texts)
        raise
    except NegativeResult as error:
        _explain(error, options)
        if error._answer is not None and error._answer.text:
            error.result = result(call, error._answer)
        raise
    except RequestError as error:
        _explain(error, options)
        raise


def execute_text(command: str, options: Options, given: Mapping[str, Any]) -> str:
    """The same of a command that prints another format."""
    memory = Memory()
    words = [word for word in _words(command, options, given, memory) if word != "--format=json"]
    try:
        return _native.call(words, tuple(memory.texts.items()), None).text
    except (RequestError, NegativeResult) as error:
        _explain(error, options)
        raise


def _explain(error: Any, options: Options) -> None:
    error.message = _in_keywords(error.message, options)
    keyword = error.place.split(" ")[0]
    if not keyword and (begin := re.match(r"--?[a-z][a-z-]*", str(error.args[0]))):
        keyword = _in_keywords(begin[0], options)
    error.place = keyword


def describe(command: str) -> Dict[str, Any]:
    """The options of a command line's command, as plain data."""
    return _native.describe(command)
