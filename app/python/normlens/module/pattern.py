"""Which sums of a tensor's elements are meant (core/ops/pattern.h): "(16)(48 sum)", "(3 of 0:1)(8 sum)".

The row-major index of a tensor is cut into factors, outermost first. A group is the set of elements that agree on every
factor that is not summed; a factor "of begin:end" restricts the region.
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import List, Optional, Sequence, Tuple

import torch

FACTOR = re.compile(r"\((\d+)( sum)?(?: of (\d+):(\d+))?\)")


@dataclasses.dataclass(frozen=True)
class Factor:
    size: int
    summed: bool
    begin: int
    end: int

    @property
    def whole(self) -> bool:
        return self.begin == 0 and self.end == self.size


def parse(text: str) -> Tuple[Factor, ...]:
    """ValueError for what is no pattern."""
    if FACTOR.sub("", text) not in ("", "()"):
        raise ValueError(f"'{text}' is no pattern")
    return tuple(
        Factor(int(size), bool(summed), int(begin or 0), int(end or size)) for size, summed, begin, end in FACTOR.findall(text)
    )


def fits(pattern: Sequence[Factor], tensor: torch.Tensor) -> bool:
    return math.prod(factor.size for factor in pattern) == tensor.numel()


def _region(flat: torch.Tensor, pattern: Sequence[Factor]) -> torch.Tensor:
    """The region as a view, an axis for each factor."""
    view = flat.reshape([factor.size for factor in pattern])
    return view[tuple(slice(factor.begin, factor.end) for factor in pattern)]


def group_sums(tensor: torch.Tensor, pattern: Sequence[Factor]) -> Tuple[torch.Tensor, int]:
    """(the sum of each group, summed axes kept with size 1; how many elements a group has)"""
    region = _region(tensor.reshape(-1), pattern)
    axes = [axis for axis, factor in enumerate(pattern) if factor.summed]
    count = math.prod([pattern[axis].end - pattern[axis].begin for axis in axes])  # torch.compile takes no generator here
    return (region.sum(axes, keepdim=True) if axes else region), count


def without(tensor: torch.Tensor, pattern: Sequence[Factor], means: torch.Tensor) -> torch.Tensor:
    """The tensor with a mean subtracted from each group, of the tensor's shape; means broadcast over the region."""
    if all(factor.whole for factor in pattern):
        return (tensor.reshape([factor.size for factor in pattern]) - means).reshape(tensor.shape)
    out = tensor.reshape(-1).clone()
    _region(out, pattern).sub_(means)
    return out.reshape(tensor.shape)


def centered(
    tensor: torch.Tensor, pattern: Sequence[Factor], others: Sequence[Tuple[torch.Tensor, Sequence[Factor]]] = ()
) -> torch.Tensor:
    """The tensor without the mean of each group, in its own type; gradients flow through. others: tensors of which the k-th
    groups belong to the k-th group, with their patterns."""
    sums, count = group_sums(tensor, pattern)
    for other, its in others:
        more, number = group_sums(other, its)
        sums, count = sums + more.reshape(sums.shape), count + number
    return without(tensor, pattern, sums / count)


def centered_jointly(tensors: Sequence[torch.Tensor], patterns: Sequence[Sequence[Factor]]) -> List[torch.Tensor]:
    """The k-th groups of all tensors are one group: of the means that make the sum of all its elements 0."""
    pairs = list(zip(tensors, patterns))
    return [centered(*pair, pairs[:place] + pairs[place + 1 :]) for place, pair in enumerate(pairs)]


def axes_of(pattern: Sequence[Factor], shape: Sequence[int]) -> Optional[Tuple[int, ...]]:
    """The axes of that shape that are summed, from the end (-1 is the last); None where the pattern sums parts of axes."""
    rest = [[factor.size, factor.summed] for factor in pattern]
    if not all(factor.whole for factor in pattern):
        return None
    axes = []
    for place, size in enumerate(reversed(shape)):
        kinds = set()
        while size > 1:
            if not rest:
                return None
            taken = math.gcd(size, rest[-1][0])
            if taken == 1 or (rest[-1][0] != taken and size != taken):
                return None
            kinds.add(rest[-1][1])
            size //= taken
            rest[-1][0] //= taken
            if rest[-1][0] == 1:
                rest.pop()
        if len(kinds) > 1:
            return None
        if kinds == {True}:
            axes.append(-1 - place)
    return tuple(axes) if axes and not rest else None
