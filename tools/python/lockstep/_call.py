"""From keywords to the words of a command, and its answer back."""

from __future__ import annotations

import functools
import json
import os
import re
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from lockstep import _native, units
from lockstep._errors import ConfigError, NegativeResult, RequestError
from lockstep._results import Result, answered
from lockstep.inputs import Memory, plain, plain_number, word_of

OnProgress = Callable[[_native.Progress], object]

#: keyword, option with its other names ("" for a positional argument), kind of the value
Options = Sequence[Tuple[str, str, str]]

_Result = TypeVar("_Result", bound=Result)
_Function = TypeVar("_Function", bound=Callable[..., Any])
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
    if isinstance(value, str):
        return value
    try:
        return json.dumps(units.with_units(plain(value)), allow_nan=False)
    except (TypeError, ValueError):
        raise RequestError(f"expected a value of JSON, got {value!r}") from None


def _items(keyword: str, value: object) -> List[object]:
    if isinstance(value, (str, bytes, int, float, os.PathLike, Mapping)) or not hasattr(
        value, "__iter__"
    ):
        return [value]
    return list(plain_number(value))


def _assignments(keyword: str, value: object) -> List[str]:
    """KEY=VALUE of a mapping, or as written."""
    if isinstance(value, Mapping):
        return [f"{key}={_setting(of)}" for key, of in value.items()]
    return [_text(keyword, each) for each in _items(keyword, value)]


def _varied(value: object) -> object:
    """Lists of values as texts: {"pp": [1, 2]} is {"pp": "1,2"}."""
    if not isinstance(value, Mapping):
        return value
    values = {key: plain_number(of) for key, of in value.items()}
    return {
        key: ",".join(map(_setting, of)) if isinstance(of, (list, tuple, range)) else of
        for key, of in values.items()
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
    if not isinstance(value, (str, int, float)):
        value = plain_number(value)

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
    return _answered(result, options, words, memory.texts, progress)


def _check_encodable(word: str) -> None:
    try:
        word.encode()
    except UnicodeEncodeError:
        raise RequestError(f"expected a text that UTF-8 can have, got {word!r}") from None


def _answered(
    result: Type[_Result],
    options: Options,
    words: List[str],
    texts: Dict[str, str],
    progress: Optional[OnProgress],
) -> _Result:
    try:
        answer = _native.call(words, tuple(texts.items()), progress)
    except TypeError:
        for word in words:
            _check_encodable(word)
        raise
    except Exception as error:
        _explain(result, options, error, texts)
        raise
    out = answered(result, answer)
    if not answer.is_json:
        raise RequestError(
            f"{out._call.command}: with these keywords the command prints no "
            "result but a text; use the command line for it"
        )
    return out


#: Kinds for which a text is one word, and those for which an integer is.
_OF_TEXTS = set(
    ("text", "texts", "list", "range", "dimensions", "assignments", "vary", "settings",
     "scenarios", "schedules", *_DOCUMENTS)
)  # fmt: skip
_OF_INTEGERS = set(("integer", "text", "texts", "list", "range", "dimensions"))


class _Word(NamedTuple):
    """How the value of a keyword becomes a word."""

    begin: str  # "--nodes="
    option: str
    kind: str
    is_text: bool
    is_integer: bool


def command(
    result: Type[_Result], name: str, options: Options
) -> Callable[[_Function], _Function]:
    """The function of a command, which is called with the keywords that are given alone: looking
    at all that it has would take longer than many commands. What is not plain goes on in the
    function itself, which has the signature."""
    head = name.split()
    positional = tuple(keyword for keyword, option, _ in options if not option)
    named = {
        keyword: _Word(f"{option}=", option, kind, kind in _OF_TEXTS, kind in _OF_INTEGERS)
        for keyword, all_names, kind in options
        if (option := all_names.split(",")[0])
    }
    kinds = {keyword: kind for keyword, _, kind in options}

    def decorate(function: _Function) -> _Function:
        # inspect.signature() would say the same, and its import takes a fifth of that of lockstep.
        plain = getattr(function, "__code__").co_argcount - len(
            getattr(function, "__defaults__") or ()
        )
        required = positional[:plain]

        def call(*args: Any, **given: Any) -> Any:
            if args:
                if len(args) > len(positional):
                    return _refuse(function, args, given)
                for keyword, value in zip(positional, args):
                    if keyword in given:
                        return _refuse(function, args, given)
                    given[keyword] = value
            for keyword in required:
                if keyword not in given:
                    return _refuse(function, (), given)
            progress = given.pop("progress", None)
            memory = Memory()
            words = head.copy()
            tail = ["--"]
            for keyword in positional:
                value = given.pop(keyword, None)
                if type(value) is str:
                    tail.append(value)
                elif value is not None:
                    tail += _value_words(keyword, "", kinds[keyword], value, memory)
            for keyword, value in given.items():
                word = named.get(keyword)
                if word is None:
                    return _refuse(function, (), {**dict.fromkeys(required), **given})
                if type(value) is str and word.is_text:
                    words.append(word.begin + value)
                elif type(value) is int and word.is_integer:
                    words.append(f"{word.begin}{value}")
                elif value is not None and value is not False:
                    words += _value_words(keyword, word.option, word.kind, value, memory)
            words.append("--format=json")
            if len(tail) > 1:
                words += tail
            return _answered(result, options, words, memory.texts, progress)

        def explain(error: Exception, words: object, texts: Sequence[Tuple[str, str]]) -> None:
            _explain(result, options, error, dict(texts))

        # Takes a call of a brief command with plain values itself; any other goes to `call`.
        out = _native.Function(
            (head, result), options, _OF_TEXTS, _OF_INTEGERS, len(required), call, explain
        )
        return functools.update_wrapper(out, function)  # type: ignore[return-value]

    return decorate


def _refuse(function: Callable[..., Any], args: Sequence[Any], given: Dict[str, Any]) -> Any:
    """The TypeError of a call that its signature refuses, with the keyword that was meant."""
    try:
        return function(*args, **given)
    except TypeError as error:
        from difflib import get_close_matches

        names = [name for name in function.__annotations__ if name != "return"]
        unknown = [keyword for keyword in given if keyword not in names]
        meant = get_close_matches(unknown[0], names, 1) if unknown else []
        hint = f"; did you mean {meant[0]!r}?" if meant else ""
        raise TypeError(f"{error}{hint}") from None


def execute_text(command: str, options: Options, given: Mapping[str, Any]) -> str:
    """The same of a command that prints another format."""
    memory = Memory()
    words = [word for word in _words(command, options, given, memory) if word != "--format=json"]
    try:
        return _native.call(words, tuple(memory.texts.items()), None).text
    except Exception as error:
        _explain(None, options, error, memory.texts)
        raise


def _explain(
    result: Optional[Type[Result]], options: Options, error: Exception, texts: Dict[str, str]
) -> None:
    """An error in the words of a function, with its result if there is one."""
    if isinstance(error, ConfigError):
        error._in_words_of(texts, lambda text: _in_keywords(text, options))
    elif isinstance(error, (NegativeResult, RequestError)):
        _explain_message(error, options)
    if isinstance(error, NegativeResult) and result and error._answer and error._answer.is_json:
        error.result = answered(result, error._answer)


def _explain_message(error: Union[NegativeResult, RequestError], options: Options) -> None:
    place = error.place.split(" ")[0]
    if not place and (begin := re.match(r"--?[a-z][a-z-]*", error.message)):
        place = _in_keywords(begin[0], options)
    error._say(_in_keywords(error.message, options), place)


def describe(command: str) -> Dict[str, Any]:
    """The options of a command line's command, as plain data."""
    return _native.describe(command)
