"""Outputs of two modules, side by side."""

from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch.utils import _pytree as pytree

NOISE = 6  # times what rounding moves the original by, as the engine has it
MOST_ROUNDING = 0.1  # of the scale; whatever moves further is no rounding


def tensors_in(output: Any) -> List[Any]:
    """Leaves of what a module returned, in order; of an object that is no container torch knows, its tensors."""
    found: List[Any] = []
    for leaf in pytree.tree_leaves(output):
        known = leaf is None or isinstance(leaf, (torch.Tensor, bool, int, float, str))
        found += [leaf] if known or not hasattr(leaf, "__dict__") else tensors_in(dict(vars(leaf)))
    return found


class Rows:
    """The elements in which two floating-point tensors differ, in rows along the last axis that has more than one element.

    They are judged as in the engine (core/run/compare/diff.h): equal elements set no scale, because the -3e38 of a mask
    would hide whatever stands beside it. NaN equals NaN.
    """

    def __init__(self, output: torch.Tensor, original: torch.Tensor) -> None:
        a, b = _wide(original), _wide(output)
        width = next((size for size in reversed(a.shape) if size > 1), 1)
        self.where = ((a != b) & ~(a.isnan() & b.isnan())).reshape(-1, width)
        self.apart = self.between(output, original)
        self.scale = torch.where(self.where & a.isfinite().reshape(-1, width), a.abs().reshape(-1, width), 0.0).amax(1)
        self.magnitudes = a.abs()

    def between(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """The largest distance of these two in each row, among the elements in question; infinite where one is not finite."""
        apart = (_wide(one) - _wide(other)).abs().nan_to_num(math.inf, math.inf).reshape(self.where.shape)
        return torch.where(self.where, apart, 0.0).amax(1)

    def relative(self) -> torch.Tensor:
        found = _ratio(self.apart, self.scale)
        worth_a_scale = float(found.max()) > 1e-12
        return _ratio(self.apart, self.scale.clamp_min(least_scale([self.magnitudes]))) if worth_a_scale else found


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.detach().cpu()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj()).reshape(*tensor.shape[:-1], -1)
    return tensor.double()


def _ratio(apart: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch.where(apart > 0, apart / scale, 0.0)


def least_scale(tensors: Sequence[torch.Tensor]) -> float:
    """A tenth of the lower quartile of the magnitudes: numbers that are nothing but rounding have no scale of their own."""
    sizes = torch.cat([tensor.detach().abs().double().reshape(-1) for tensor in tensors])
    sizes = sizes[sizes.isfinite() & (sizes > 0)]
    return float(sizes.kthvalue(sizes.numel() // 4 + 1).values) / 10 if sizes.numel() else 0.0


def without_distance(output: Any, original: Any) -> Optional[float]:
    """0 or infinity where equality alone counts: tensors of other shapes, whole numbers, what is no tensor. None elsewhere."""
    if not (isinstance(output, torch.Tensor) and isinstance(original, torch.Tensor)):
        return 0.0 if type(output) is type(original) and output == original else math.inf
    if output.shape != original.shape or output.dtype != original.dtype:
        return math.inf
    if output.is_floating_point() or output.is_complex():
        return None if output.numel() else 0.0
    return 0.0 if torch.equal(output.detach().cpu(), original.detach().cpu()) else math.inf


def pairs(one: Any, other: Any) -> List[Tuple[Any, Any]]:
    """Leaf by leaf; ValueError where they have another number of outputs."""
    a, b = tensors_in(one), tensors_in(other)
    if len(a) != len(b):
        raise ValueError(f"{len(a)} outputs, {len(b)} of the original")
    return list(zip(a, b))


def relative(one: Any, other: Any, moved: Any = None) -> float:
    """The largest difference of two outputs, relative to the original's scale in its row.

    moved: what `one` becomes when its weights are rounded otherwise; a row that is off by NOISE times that counts as equal.
    """
    worst = 0.0
    others = tensors_in(other if moved is None else moved)
    for (a, b), c in zip(pairs(one, other), others):
        known = without_distance(a, b)
        if known is None:
            rows = Rows(a, b)
            noise = rows.between(a, c) if moved is not None else torch.zeros_like(rows.apart)
            # Noise as large as the numbers themselves is no measure.
            rounding = (rows.apart <= NOISE * noise) & (noise < MOST_ROUNDING * rows.scale)
            known = float(torch.where(rounding, 0.0, rows.relative()).max())
        worst = max(worst, known)
    return worst


def says_something(output: Any) -> bool:
    """Whether a number of it is finite: where none is, any two modules agree."""
    tensors = [leaf for leaf in tensors_in(output) if isinstance(leaf, torch.Tensor)]
    return any(bool(torch.isfinite(tensor).any()) for tensor in tensors)
