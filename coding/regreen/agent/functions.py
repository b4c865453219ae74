"""`@tool`: a typed Python function becomes a tool. Its schema comes from its signature, its checks from pydantic.

    @tool(read_only=True)
    def count_lines(path: Annotated[str, Field(min_length=1)], limit: int = 100) -> str:
        \"\"\"Count the lines of a file.\"\"\"

The first parameter that is annotated `ToolContext` is not the model's to set: it gets the call's context.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints, overload

from regreen.agent.schemas import Schema, flat
from regreen.agent.tool import Tool, ToolContext, ToolReply
from regreen.errors import UsageError
from regreen.wire import MAX_NAME, Json, nearest, shortened, shown, to_json

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

_MAX_VALUE = 80  # characters of a wrong value that are repeated
_MOST_ERRORS = 5
_MOST_STEPS = 10  # on the way to a wrong value
_MAX_REASON = 300


@overload
def tool(function: Callable[..., object], /) -> Tool: ...


@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    read_only: bool = False,
    requires_approval: bool = False,
    timeout_s: float = 0.0,
    max_chars: int = 0,
) -> Callable[[Callable[..., object]], Tool]: ...


def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    read_only: bool = False,
    requires_approval: bool = False,
    timeout_s: float = 0.0,
    max_chars: int = 0,
) -> Tool | Callable[[Callable[..., object]], Tool]:
    """Make a tool of a function: its name, its docstring's first paragraph, its parameters.

    What it returns is said to the model: text as it is, a ToolReply with its flags, other values as JSON. It may raise
    RegreenError, to tell the model what to do otherwise. Raises TypeError for a function that cannot be a tool.
    """

    def make(function: Callable[..., object]) -> Tool:
        called = name or function.__name__
        says = description or _first_paragraph(function)
        if not says:
            raise TypeError(f"{called} has no docstring, by which a model could choose it")
        parameters = _Parameters(called, function)

        def run(arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
            return _as_reply(function(**parameters.checked(arguments, context)))

        return Tool(called, says, parameters.schema, run, read_only=read_only, requires_approval=requires_approval,
                    timeout_s=timeout_s, max_chars=max_chars)  # fmt: skip

    return make if function is None else make(function)


class _Parameters:
    """What a function takes, as a schema, and the check of a call's arguments against it."""

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        from pydantic import ConfigDict, Field, create_model
        from pydantic.fields import FieldInfo
        from pydantic_core import PydanticUndefined

        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{name} is asynchronous: give a plain function, it is called in a thread")
        try:
            hints = get_type_hints(function, include_extras=True)
        except NameError as e:
            raise TypeError(f"{name}: a type of its parameters is not known where it is defined: {e}") from e
        fields: dict[str, Any] = {}
        self._context = ""
        self._optional: set[str] = set()
        self._names: dict[str, str] = {}  # parameters by field: a model's own methods have names, too
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise TypeError(f"{name}: `{parameter.name}` cannot be given by name")
            if parameter.name not in hints:
                raise TypeError(f"{name}: `{parameter.name}` has no type")
            if hints[parameter.name] is ToolContext:
                self._context = parameter.name
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            hint: Any = hints[parameter.name]
            if isinstance(default, FieldInfo):
                hint, default = Annotated[hint, default], default.get_default(call_default_factory=True)
                default = ... if default is PydanticUndefined else default
            if default is not ...:
                self._optional.add(parameter.name)
            field = f"p{len(fields)}"
            self._names[field] = parameter.name
            fields[field] = (hint, Field(default, alias=parameter.name))
        self._name = name
        self._model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        self.schema: Schema = flat(self._model.model_json_schema())

    def checked(self, arguments: Mapping[str, Json], context: ToolContext) -> dict[str, Any]:
        """The arguments as the function wants them. Raises UsageError: each field and what is wrong with it."""
        from pydantic import ValidationError

        sent = cast("Mapping[str, object]", arguments)  # models send null, too
        given = {k: v for k, v in sent.items() if v is not None or k not in self._optional}
        try:
            model = self._model.model_validate(given)
        except ValidationError as e:
            raise self._refused(e) from None
        values = {name: getattr(model, field) for field, name in self._names.items()}
        return values | {self._context: context} if self._context else values

    def _refused(self, error: ValidationError) -> UsageError:
        errors = error.errors(include_url=False)
        known: Schema = self.schema["properties"]
        wrong = "; ".join(_said(e) for e in errors[:_MOST_ERRORS])
        more = f"; and {len(errors) - _MOST_ERRORS} more" if len(errors) > _MOST_ERRORS else ""
        kinds = {e["type"] for e in errors}
        unknown = [str(e["loc"][0]) for e in errors if e["type"] == "extra_forbidden" and len(e["loc"]) == 1]
        near = nearest(unknown[0], known) if unknown else []
        meant = f"did you mean `{near[0]}`? " if near else ""
        kind = "unknown_argument" if kinds == {"extra_forbidden"} else "invalid_arguments"
        takes = "; ".join(self._described(n) for n in known) or "nothing"
        return UsageError(kind, f"{self._name}: {wrong}{more}", f"{meant}{self._name} takes {takes}")

    def _described(self, name: str) -> str:
        """A parameter in the hint: its name, whether it must be given, what it may be."""
        rules = {k: v for k, v in self.schema["properties"][name].items() if k not in ("description", "default")}
        needed = " (required)" if name in self.schema.get("required", ()) else ""
        return f"`{name}`{needed} {shortened(json.dumps(rules, ensure_ascii=False), 200)}"


def _said(error: ErrorDetails) -> str:
    """One error: the field, the reason, and what was sent."""
    field = shortened(".".join(shortened(str(step), MAX_NAME) for step in error["loc"][:_MOST_STEPS]), 2 * MAX_NAME)
    field = field or "arguments"
    if error["type"] == "missing":
        return f"`{field}` is missing"
    if error["type"] == "extra_forbidden":
        return f"there is no `{field}`"
    reason = shortened(error["msg"].replace("\n", " "), _MAX_REASON)
    return f"`{field}`: {reason} (sent {shown(error['input'], _MAX_VALUE)})"


def _as_reply(value: object) -> ToolReply:
    match value:
        case ToolReply():
            return value
        case str():
            return ToolReply(value)
        case None:
            return ToolReply("done")
        case _:
            try:
                return ToolReply(json.dumps(to_json(value), ensure_ascii=False))
            except TypeError:  # the toolbox tells what it was
                return cast("ToolReply", value)


def _first_paragraph(function: Callable[..., object]) -> str:
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
