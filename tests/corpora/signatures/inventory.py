"""Keeps an inventory.

def fake(): ...
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, TypeVar, overload

__all__ = ["Shelf", "find"]
MAX_ITEMS: Final = 1_000
DEFAULTS = {"size": 3, "name": "shelf", "colour": "grey", "where": "hall"}
T = TypeVar("T", bound="Item", covariant=True)
Pair: TypeAlias = "tuple[Item, Item]"
width = height = 0
left, (top, right) = 1, (2, 3)
type Grid[T, *Ts, **P] = dict[tuple[int, int], Callable[P, T]]
type Name = str

if TYPE_CHECKING:
    from collections.abc import Iterator

    class Hidden(Protocol):
        def ping(self) -> None: ...

try:
    import orjson as json
except ImportError:

    def dumps(value: object, /, *, indent: int | None = None) -> str:
        "Writes JSON."
        return ""


class Point(NamedTuple):
    """A place."""

    x: int
    y: int = 0


@dataclass(frozen=True, slots=True)
@register("item", tags=["a", "b"])
class Item[K: (int, str) = int](Base[K], metaclass=Meta, flag=True):
    '''An item
    on a shelf.'''

    __slots__ = ("name",)
    name: str
    tags: list[str] = field(default_factory=list)
    LIMIT: ClassVar[int] = 3
    key = property(lambda self: self._key)

    class Config:
        strict = True

        class Inner: ...

    @property
    def size(self) -> int:
        return 1

    @size.setter
    def size(self, value: int) -> None: ...

    @cached_property
    # why it is kept
    def cost(self) -> Decimal:
        r"""What it costs."""

    @classmethod
    async def load(
        cls,
        path: str = "a:b",  # where
        *args: "int",
        callback: Callable[[int], str] = lambda x: f"{x:>3}",
        options: dict[str, int] = {"a": 1},
        **kwargs: Unpack[Options],
    ) -> AsyncIterator[Self]:
        self.loaded = True
        yield cls()

    if sys.platform == "win32":
        def open(self): ...
    else:
        def open(self, mode): ...

    def __eq__(self, other: object, /) -> bool: return self is other


@overload
def find(key: int) -> Item: ...
@overload
def find(key: str) -> list[Item]: ...
def find(key):
    def inner(a, b=(1, 2)):
        local = 3

        class Local(Item):
            value = 4

            def method(self): ...

        return local

    return inner


async def stream[T](items: list[T], größe: float = 1e3) -> Iterator[T]:  # no doc
    # nor this
    """Streams items."""
    match items:
        case [first, *_]:
            yield first


square = lambda n: n * n


def \
        continued(a, \
                  b): ...
