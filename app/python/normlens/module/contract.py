"""The call that a module was exported for: what a fold holds for before anything else was tried.

Each parameter of forward has a form: a type, a number of axes and their sizes, a length, or a value. Relations between sizes are
those that torch.export recorded when the code decided by a size.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Tuple

import torch

PLAIN = (type(None), bool, int, float, str)


@dataclasses.dataclass(frozen=True)
class TensorForm:
    """sizes: None where the export leaves a size open. contiguous: None where the layout makes no difference."""

    dtype: torch.dtype
    sizes: Tuple[Optional[int], ...]
    contiguous: Optional[bool]

    def __str__(self) -> str:
        sizes = ", ".join("any" if size is None else str(size) for size in self.sizes)
        layout = ", not contiguous" if self.contiguous is False else ""
        return f"{str(self.dtype).removeprefix('torch.')}[{sizes}]{layout}"

    def takes(self, other: "TensorForm") -> bool:
        same = len(self.sizes) == len(other.sizes) and self.contiguous in (None, other.contiguous)
        return same and self.dtype == other.dtype and all(a in (None, b) for a, b in zip(self.sizes, other.sizes))


@dataclasses.dataclass(frozen=True)
class Value:
    """A plain argument by its value, a container by its length or keys, anything else by its type."""

    kind: type
    value: Any

    def __str__(self) -> str:
        if self.kind in PLAIN:
            return repr(self.value)
        return f"a {self.kind.__name__}" + ("" if self.value is None else f" of {self.value}")

    def takes(self, other: "Value") -> bool:
        return self == other


Forms = Dict[str, Any]  # by name: "x", "x[0]", "kwargs['scale']"


def forms_of(name: str, value: Any, sizes: Mapping[int, Any] = {}) -> Iterator[Tuple[str, Any]]:
    """sizes: of tensors by their id, where some are left open."""
    if isinstance(value, torch.Tensor):
        yield name, TensorForm(value.dtype, sizes.get(id(value), tuple(value.shape)), value.is_contiguous())
    elif isinstance(value, (list, tuple, dict)):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        yield name, Value(type(value), f"the keys {sorted(map(repr, keys))}" if isinstance(value, dict) else len(value))
        for key in keys:
            yield from forms_of(f"{name}[{key!r}]", value[key], sizes)
    else:
        yield name, Value(type(value), value if isinstance(value, PLAIN) else None)


@dataclasses.dataclass(frozen=True)
class Relation:
    """source: Python over L, the arguments by name, as torch.export writes them. condition: in the words of a trial."""

    source: str
    condition: str = ""

    def __str__(self) -> str:
        return re.sub(r"L\['(\w+)'\]([^ ]*?)\.size\(\)\[(\d+)\]", r"\1\2.size(\3)", self.source)


@dataclasses.dataclass(frozen=True)
class Contract:
    """names: the parameters that take arguments by place; rest: those of *args and **kwargs, or "". defaults: of the parameters
    that the example leaves out; given: the others."""

    names: Tuple[str, ...]
    rest: Tuple[str, str]
    defaults: Mapping[str, Any]
    given: Tuple[str, ...]
    forms: Forms
    relations: Tuple[Relation, ...]

    def without(self, held: Collection[str]) -> "Contract":
        """held: conditions that were broken in a trial, and nothing was different."""

        def freed(name: str, form: Any) -> Any:
            free = isinstance(form, TensorForm) and f"{name} is contiguous" in held
            return dataclasses.replace(form, contiguous=None) if free else form

        relations = tuple(one for one in self.relations if one.condition not in held)
        forms = {name: freed(name, form) for name, form in self.forms.items()}
        return dataclasses.replace(self, forms=forms, relations=relations)

    def text(self) -> Tuple[str, ...]:
        shown = [f"{name}: {form}" for name, form in self.forms.items() if re.split(r"\[", name)[0] in self.given]
        left_out = [name for name in self.defaults if name not in self.given]
        shown += ["every other argument: left out"] if left_out else []
        return (*shown, *map(str, self.relations))

    def values(self) -> List[str]:
        """Of plain arguments with more values than can be tried."""
        return [f"{name} is {form}" for name, form in self.forms.items() if name.split("[")[0] in self.given and _is_open(form)]

    def arguments(self, args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
        found = {**self.defaults, **dict(zip(self.names, args))}
        if self.rest[0]:
            found[self.rest[0]] = tuple(args[len(self.names) :])
        if self.rest[1]:
            found[self.rest[1]] = {name: value for name, value in kwargs.items() if name not in self.forms}
        found.update({name: value for name, value in kwargs.items() if name in self.forms or not self.rest[1]})
        return found

    def broken_by(self, arguments: Mapping[str, Any]) -> Optional[str]:
        """The first argument that is of another form, in words."""
        for name, value in arguments.items():
            for part, form in forms_of(name, value):
                known = self.forms.get(part)
                if known is None or type(known) is not type(form) or not known.takes(form):
                    return f"{part} is {form}, not {known or 'left out'}"
        return next((f"{name} is left out" for name in self.forms if name.split("[")[0] not in arguments), None)


def _is_open(form: Any) -> bool:
    return isinstance(form, Value) and form.kind in (int, float, str)
