"""What a job asks the person through its task: kept until a client that asks for the task brings the answer.

Rules: a key names one question, ever; an answer counts once; a job that was cancelled waits for none.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regreen.errors import UsageError

if TYPE_CHECKING:
    from mcp_types import ElicitResult

    from regreen.sandbox import Cancel


@dataclass(slots=True, eq=False)
class _Open:
    """One question: as it is on the wire, and what came of it."""

    request: Mapping[str, Any]
    over: threading.Event = field(default_factory=threading.Event)
    result: ElicitResult | None = None


class Questions:
    """The questions of one job, from any of its threads; `who` began it, and nobody else is asked."""

    def __init__(self, who: Hashable) -> None:
        self.who = who
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._open: dict[str, _Open] = {}

    def ask(self, message: str, form: Mapping[str, Any], cancel: Cancel, limit_s: float) -> ElicitResult | None:
        """Put a question, and block until it is answered. None: nobody did in time, or the job was cancelled."""
        request = {"method": "elicitation/create",
                   "params": {"mode": "form", "message": message, "requestedSchema": dict(form)}}  # fmt: skip
        question = _Open(request)
        with self._lock:
            key = f"question-{next(self._numbers)}"
            self._open[key] = question
        with cancel.waking(question.over.set):
            question.over.wait(limit_s)
        with self._lock:
            self._open.pop(key, None)
            return question.result

    def asked(self) -> dict[str, Any]:
        """What is open now, by key."""
        with self._lock:
            return {key: question.request for key, question in self._open.items()}

    def answer(self, responses: Mapping[str, Any]) -> None:
        """Take the answers to open questions; others are passed over. Raises UsageError where one is no answer to a
        form, and takes none of them."""
        with self._lock:
            answers = {key: _result(key, responses[key]) for key in self._open if key in responses}
            for key, result in answers.items():
                question = self._open.pop(key)
                question.result = result
                question.over.set()


def _result(key: str, response: object) -> ElicitResult:
    from mcp_types import ElicitResult
    from pydantic import ValidationError

    try:
        return ElicitResult.model_validate(response)
    except ValidationError as e:
        raise UsageError("invalid_arguments", f"`inputResponses` holds no answer to a form under {key}",
                         'for example {"action": "accept", "content": {...}}') from e  # fmt: skip
