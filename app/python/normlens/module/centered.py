"""Centered weights as a parametrisation: what is trained is the raw weight, what is read is the weight without its mean.

W = V - mean(V) over each group of a pattern (papers 000 and 001, column-centered weight transform; there I - 11^T/m from
the left). V starts as the weight that was there, so nothing jumps, and gradients of V are the centered gradients of W:
where every reader of W tolerates the shift, they are the gradients that LayerNorm's network has.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import torch
from torch import nn
from torch.nn.utils import parametrize

from normlens.module.changes import Changes
from normlens.module.edits import Edit, NoCounterpart
from normlens.module.observe import Observed
from normlens.module.owners import Graph, Owner, tensors_of
from normlens.module.pattern import Factor, centered, parse
from normlens.module.resolve import Action, center_constant, check_readers

NARROW = (torch.float16, torch.bfloat16)


class Raw(NamedTuple):
    """A weight that shares its mean with another one. Copied with the module that holds both, as no submodule of either."""

    part: nn.Module
    name: str
    factors: Tuple[Factor, ...]

    def tensor(self) -> torch.Tensor:
        if parametrize.is_parametrized(self.part, self.name):
            return self.part.parametrizations[self.name].original  # type: ignore[union-attr,index,return-value]
        return getattr(self.part, self.name)


class Centered(nn.Module):
    """The parametrisation. pattern: as the engine writes it, "(16 sum)(32)" of a linear's weight [16, 32]. others: the weights
    whose k-th groups are one with this one's, of linears that are concatenated."""

    def __init__(self, pattern: str, others: Sequence[Raw] = ()) -> None:
        super().__init__()
        self.pattern = pattern
        self._factors = parse(pattern)
        self._others = tuple(others)

    def forward(self, raw: torch.Tensor) -> torch.Tensor:
        wide = torch.float32 if raw.dtype in NARROW else raw.dtype  # the mean of narrow ones would be coarse
        others = [(one.tensor().to(wide), one.factors) for one in self._others]
        return centered(raw.to(wide), self._factors, others).to(raw.dtype)

    def extra_repr(self) -> str:
        return self.pattern + (f", jointly with {len(self._others)} more" if self._others else "")

    def key(self) -> Tuple[Any, ...]:
        """Equal for those that center one tensor alike."""
        return (self.pattern, *[id(one.tensor()) for one in self._others])


def parametrising(edit: Edit, graph: Graph, seen: Observed, module: nn.Module) -> Action:
    """The edit as a parametrisation of the attributes that read the tensors. A tied tensor stays tied: its other readers
    read it raw."""
    if edit.kind != "center_constant":
        raise NoCounterpart("only the centering of a weight has a training form")
    parts = [(sorted(mine), part["pattern"]) for ((mine, _), _), part in zip(center_constant(edit, graph), edit.what["parts"])]
    return parametrised(parts, module)


def parametrised(parts: Sequence[Tuple[Sequence[Owner], str]], module: nn.Module) -> Action:
    """parts: (attributes that hold one tensor, its pattern), of one mean. NoCounterpart where a module would not notice."""
    owners = [owner for mine, _ in parts for owner in mine]
    check_readers(owners, module)
    for owner in owners:
        part = module.get_submodule(owner.module)
        if isinstance(part, nn.RNNBase):
            raise NoCounterpart(f"{owner.module} keeps its weights in a list of its own")
        if getattr(part, "sparse", False):
            raise NoCounterpart(f"{owner.module} has sparse gradients, which no centered weight has")

    def act(changes: Changes) -> str:
        part_of = changes.module.get_submodule
        raws = [Raw(part_of(mine[0].module), mine[0].attribute, parse(pattern)) for mine, pattern in parts]
        tensors = [raw.tensor() for raw in raws]
        for place, (mine, pattern) in enumerate(parts):
            others = raws[:place] + raws[place + 1 :]
            for owner in mine:
                part = part_of(owner.module)
                _parametrised(part, owner.attribute, tensors[place], [Centered(pattern, others)])
                changes.names.add(str(owner))
                changes.remember(lambda part=part, name=owner.attribute: _plain(part, name))
        return ""

    return act


def _with_own_class(part: nn.Module) -> None:
    """torch gives a parametrised module a class with a property for each tensor, and changes this class later. A deep copy
    of the module shares the class."""
    if parametrize.is_parametrized(part):
        part.__class__ = type(type(part).__name__, type(part).__bases__, dict(vars(type(part))))


def _plain(part: nn.Module, name: str) -> None:
    """The raw tensor again; of several parametrisations the first call takes all away."""
    if parametrize.is_parametrized(part, name):
        _with_own_class(part)
        parametrize.remove_parametrizations(part, name, leave_parametrized=False)


def centered_attributes(module: nn.Module) -> Iterator[Tuple[Owner, nn.Module]]:
    """(owner, its module) of all attributes that Centered alone parametrises."""
    for path, part in list(module.named_modules()):
        for name, chain in getattr(part, "parametrizations", {}).items():
            if all(isinstance(step, Centered) for step in chain):
                yield Owner(path, name), part


def bake(module: nn.Module, changes: Changes) -> List[Owner]:
    """Plain parameters with the centered numbers; returns the attributes whose raw tensor the module still holds elsewhere.

    Each is a new parameter, one for all attributes that center one tensor alike: whatever else refers to the raw tensor (a
    tied module, a list or a view that no module registers, an optimizer) still reads the numbers that it read before.
    """
    found = list(centered_attributes(module))
    values = {owner: getattr(part, owner.attribute).detach().clone() for owner, part in found}
    steps = {owner: list(part.parametrizations[owner.attribute]) for owner, part in found}
    alike = {owner: tuple(step.key() for step in chain) for owner, chain in steps.items()}
    raws = {owner: part.parametrizations[owner.attribute].original for owner, part in found}
    made: Dict[Any, Any] = {}
    for owner, part in found:
        raw, value = raws[owner], values[owner]
        new = nn.Parameter(value, raw.requires_grad) if isinstance(raw, nn.Parameter) else value
        new = made.setdefault((id(raw), *alike[owner]), new)
        changes.remember(lambda owner=owner, part=part: _parametrised(part, owner.attribute, raws[owner], steps[owner]))
        _plain(part, owner.attribute)
        setattr(part, owner.attribute, new)
    held = {id(tensor) for tensor in tensors_of(module).values()}
    return [owner for owner, _ in found if id(raws[owner]) in held]


def _parametrised(part: nn.Module, name: str, raw: torch.Tensor, steps: Sequence[Centered]) -> None:
    _with_own_class(part)
    setattr(part, name, raw)
    for step in steps:
        parametrize.register_parametrization(part, name, step)
