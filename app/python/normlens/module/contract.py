"""The call that a module was exported for: what a fold holds for before anything else was tried.

Each parameter of forward has a form: a type, a number of axes and their sizes, a length, or a value. Relations between sizes are
those that torch.export recorded when the code decided by a size.
"""

from __future__ import annotations

import dataclasses
import enum
import re
import types
from typing import AbstractSet, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import torch

# This condition covers aspects that make no difference each alone, and do all together.
AS_GIVEN = "classes, layouts and gradients of tensors are the example's"
# The export takes these as constants, by their values.
CONSTANTS = (type(None), bool, int, float, complex, str, bytes, enum.Enum, type, torch.dtype, torch.device, torch.layout)
CONSTANTS += (torch.memory_format, types.FunctionType, types.BuiltinFunctionType)


class Names(Dict[str, Any]):
    """Constants of a compiled condition, by the names that it reads them by."""

    def of(self, value: Any) -> str:
        name = f"__normlens_{len(self)}"  # no parameter is called so
        self[name] = value
        return name


@dataclasses.dataclass(frozen=True)
class TensorForm:
    """sizes: None where the export leaves a size open. axes: () of a contiguous tensor, else as they lie in memory, and -1
    behind them where there are gaps. layout, axes and requires_grad are None where they make no difference; kinds are several."""

    dtype: torch.dtype
    sizes: Tuple[Optional[int], ...]
    kinds: Tuple[type, ...]
    layout: Optional[torch.layout]
    axes: Optional[Tuple[int, ...]]
    requires_grad: Optional[bool]

    def __str__(self) -> str:
        sizes = ", ".join("any" if size is None else str(size) for size in self.sizes)
        more = ["not contiguous"] if self.axes else []
        more += ["with a gradient"] if self.requires_grad else []
        more += [_plain(self.layout)] if self.layout not in (None, torch.strided) else []
        more += [self.kinds[0].__name__] if self.kinds[0] is not torch.Tensor else []
        return ", ".join([f"{_plain(self.dtype)}[{sizes}]", *more])

    def aspects(self, name: str) -> Dict[str, str]:
        """Field -> the condition on it, in words: what a trial may show to make no difference."""
        words = {"kinds": f"{name} is a {self.kinds[0].__name__}"} if len(self.kinds) == 1 else {}
        words |= {} if self.layout is None else {"layout": f"{name} is {_plain(self.layout)}"}
        words |= {} if self.axes is None else {"axes": f"{name} is {'not ' if self.axes else ''}contiguous"}
        grad = "a" if self.requires_grad else "no"
        return words if self.requires_grad is None else {**words, "requires_grad": f"{name} requires {grad} gradient"}

    def without(self, name: str, held: AbstractSet[str]) -> "TensorForm":
        free: Dict[str, Any] = {field: None for field, text in self.aspects(name).items() if text in held}
        free |= {"kinds": (*self.kinds, torch.Tensor, torch.nn.Parameter)} if "kinds" in free else {}
        return dataclasses.replace(self, **free)

    def condition(self, at: str, names: Names) -> str:
        """Returns it in Python. The class is first: what is traced has another one, and its sizes are not read."""
        words = [f"{at}.__class__ in {names.of(self.kinds)}", f"not {at}.is_nested", f"{at}.dtype is {names.of(self.dtype)}"]
        words += [f"{at}.layout is {names.of(self.layout)}"] if self.layout is not None else []
        words += [f"{at}.ndim == {len(self.sizes)}"]
        words += [f"{at}.shape[{axis}] == {size}" for axis, size in enumerate(self.sizes) if size is not None]
        contiguous = f"{at}.is_contiguous()"
        if self.axes is not None:
            words.append(f"not {contiguous} and {names.of(memory_axes)}({at}) == {self.axes}" if self.axes else contiguous)
        words += [f"{at}.requires_grad is {self.requires_grad}"] if self.requires_grad is not None else []
        return " and ".join(words)


def _plain(word: Any) -> str:
    return str(word).removeprefix("torch.")


def memory_axes(tensor: torch.Tensor) -> Tuple[int, ...]:
    """As TensorForm.axes."""
    if tensor.layout is not torch.strided or tensor.is_contiguous():
        return ()
    axes = sorted(range(tensor.dim()), key=lambda axis: -tensor.stride(axis))
    return tuple(axes if tensor.permute(axes).is_contiguous() else [*axes, -1])


@dataclasses.dataclass(frozen=True)
class Value:
    """A plain argument by its value, a list by its length, a dict by its keys (a set where their order makes no difference),
    anything else by its type."""

    kind: type
    value: Any

    def __str__(self) -> str:
        if issubclass(self.kind, CONSTANTS):
            return repr(self.value)
        keys = f"the keys {[*self.value]}" if isinstance(self.value, (tuple, frozenset)) else self.value
        return f"a {self.kind.__name__}" + ("" if self.value is None else f" of {keys}")

    def aspects(self, name: str) -> Dict[str, str]:
        return {"value": f"{name} has its keys in this order"} if isinstance(self.value, tuple) else {}

    def without(self, name: str, held: AbstractSet[str]) -> "Value":
        free = held.intersection(self.aspects(name).values())
        return dataclasses.replace(self, value=frozenset(self.value)) if free else self

    def condition(self, at: str, names: Names) -> str:
        kind = f"{at}.__class__ is {names.of(self.kind)}"
        if self.value is None:
            return kind
        value = names.of([*self.value] if isinstance(self.value, tuple) else self.value)
        if issubclass(self.kind, CONSTANTS):
            return f"{kind} and ({at} is {value} or {at} == {value})"
        of = {tuple: f"[*{at}]", frozenset: f"{at}.keys()"}.get(type(self.value), f"{at}.__len__()")
        return f"{kind} and {of} == {value}"


def parts_of(name: str, value: Any) -> Iterator[Tuple[str, Any]]:
    """The value and what it contains, by the Python that reads it: "x", "x[0]", "kwargs['scale']"."""
    yield name, value
    if isinstance(value, (list, tuple, dict)):
        for key in value if isinstance(value, dict) else range(len(value)):
            if type(key) in (int, str):
                yield from parts_of(f"{name}[{key!r}]", value[key])


def form_of(value: Any, sizes: Mapping[int, Any] = {}) -> Any:
    """sizes: of tensors by their id, where some are left open."""
    if isinstance(value, torch.Tensor) and not value.is_nested:
        own = sizes.get(id(value), tuple(value.shape))
        grad = value.requires_grad if value.is_floating_point() or value.is_complex() else None
        return TensorForm(value.dtype, own, (type(value),), value.layout, memory_axes(value), grad)
    if isinstance(value, dict):
        return Value(type(value), tuple(value))
    if isinstance(value, (list, tuple)):
        return Value(type(value), len(value))
    return Value(type(value), value if isinstance(value, CONSTANTS) else "several sizes" if isinstance(value, torch.Tensor) else None)


@dataclasses.dataclass(frozen=True)
class Relation:
    """source: Python over the arguments. condition: in the words of a trial."""

    source: str
    condition: str = ""

    def __str__(self) -> str:
        return re.sub(r"\.size\(\)\[(\d+)\]", r".size(\1)", self.source)


@dataclasses.dataclass(frozen=True)
class Contract:
    """signature: of forward, without types, as Python; it reads `defaults`. given: the parameters that the example gives.
    forms: by the Python that reads the part of an argument."""

    signature: str
    defaults: Mapping[str, Any]
    given: Tuple[str, ...]
    forms: Mapping[str, Any]
    relations: Tuple[Relation, ...]

    def settled(self, tried: AbstractSet[str], broken: Sequence[str]) -> Tuple["Contract", List[str]]:
        """(the contract without what made no difference when it was tried, the conditions that did). tried: conditions that were
        broken in a trial. broken: those of them with another outcome."""
        aspects = {text for name, form in self.forms.items() for text in form.aspects(name).values()}
        told = [text for text in broken if text != AS_GIVEN or not aspects.intersection(broken)]
        held = tried - set(broken) - (aspects if AS_GIVEN in told else set())
        relations = tuple(one for one in self.relations if one.condition not in held)
        forms = {name: form.without(name, held) for name, form in self.forms.items()}
        return dataclasses.replace(self, forms=forms, relations=relations), told

    def text(self) -> Tuple[str, ...]:
        shown = [f"{name}: {form}" for name, form in self._given()]
        left_out = [name for name in self.defaults if name not in self.given]
        shown += ["every other argument: left out"] if left_out else []
        return (*shown, *map(str, self.relations))

    def values(self) -> List[str]:
        """Of plain arguments with more values than can be tried."""
        return [f"{name} is {form}" for name, form in self._given() if getattr(form, "kind", None) in (int, float, str)]

    def _given(self) -> List[Tuple[str, Any]]:
        return [(name, form) for name, form in self.forms.items() if name.split("[")[0] in self.given]

    def check(self) -> Callable[..., Any]:
        """Takes the arguments of a call, and returns whether it is inside. Raises what the comparisons may."""
        names = Names()
        conditions = [form.condition(name, names) for name, form in self.forms.items()]
        return self._compiled(" and ".join([*conditions, *[f"({one.source})" for one in self.relations]]) or "True", names)

    def broken_by(self, args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Optional[str]:
        """The first argument that is of another form, in words. None of a call that forward does not take either."""

        names = Names()

        def told(source: str) -> Any:
            try:
                return self._compiled(source, names)(*args, **kwargs)
            except Exception:
                return None

        if not told("True"):
            return None
        for name, form in self.forms.items():
            if not told(form.condition(name, names)):
                return f"{name} is {form_of(told(name))}, not {form}"
        return next((f"{one} does not hold" for one in self.relations if not told(one.source)), None)

    def _compiled(self, source: str, names: Names) -> Callable[..., Any]:
        return eval(f"lambda {self.signature}: {source}", {"defaults": self.defaults, **names})
