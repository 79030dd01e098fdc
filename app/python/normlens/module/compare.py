"""Outputs of two modules, side by side."""

from __future__ import annotations

import math
from typing import Any, List, Tuple

import torch
from torch.utils import _pytree as pytree


def tensors_in(output: Any) -> List[Any]:
    """Leaves of what a module returned, in order; of an object that is no container torch knows, its tensors."""
    found: List[Any] = []
    for leaf in pytree.tree_leaves(output):
        known = leaf is None or isinstance(leaf, (torch.Tensor, bool, int, float, str))
        found += [leaf] if known or not hasattr(leaf, "__dict__") else tensors_in(dict(vars(leaf)))
    return found


def difference(output: torch.Tensor, original: torch.Tensor) -> float:
    """The largest absolute difference, in float64; infinite where shapes or what is not finite differ. NaN equals NaN."""
    if output.shape != original.shape:
        return math.inf
    if output.numel() == 0:
        return 0.0
    a, b = output.detach().cpu(), original.detach().cpu()
    if not (a.is_floating_point() or a.is_complex()):
        return 0.0 if torch.equal(a, b) else math.inf
    wide = torch.complex128 if a.is_complex() else torch.float64
    a, b = a.to(wide), b.to(wide)
    finite = torch.isfinite(b)
    if not torch.equal(finite, torch.isfinite(a)) or not torch.equal(a[~finite].nan_to_num(1), b[~finite].nan_to_num(1)):
        return math.inf
    return float((a - b)[finite].abs().max()) if bool(finite.any()) else 0.0


def scale(tensor: torch.Tensor) -> float:
    """The largest absolute value that is finite."""
    wide = tensor.detach().abs().double()
    wide = wide[torch.isfinite(wide)]
    return float(wide.max()) if wide.numel() else 0.0


def pairs(one: Any, other: Any) -> List[Tuple[Any, Any]]:
    """Leaf by leaf; ValueError where they have another number of outputs."""
    a, b = tensors_in(one), tensors_in(other)
    if len(a) != len(b):
        raise ValueError(f"{len(a)} outputs, {len(b)} of the original")
    return list(zip(a, b))


def relative(one: Any, other: Any) -> float:
    """The largest difference of two outputs, relative to the largest value of the original's tensor."""
    worst = 0.0
    for a, b in pairs(one, other):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            gap = difference(a, b)
            worst = max(worst, gap / scale(b) if gap and scale(b) else gap)
        elif type(a) is not type(b) or a != b:
            return math.inf
    return worst


def says_something(output: Any) -> bool:
    """Whether a number of it is finite: where none is, any two modules agree."""
    tensors = [leaf for leaf in tensors_in(output) if isinstance(leaf, torch.Tensor)]
    return any(bool(torch.isfinite(tensor).any()) for tensor in tensors)
