"""Gradients of a module before and after it was changed, for the same parameter objects."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

import torch
from torch import nn

from normlens.module.compare import Rows, least_scale, tensors_in
from normlens.module.inputs import Inputs
from normlens.module.modes import lift, lifted, mode_of, state_kept, without_cache
from normlens.module.verify import LIMIT, SEED
from normlens.report.report import Check

Gradients = List[Optional[torch.Tensor]]


def gradients(exact: nn.Module, inputs: Inputs, parameters: Sequence[nn.Parameter]) -> Gradients:
    """Of a drawn weighted sum of all outputs, in training mode. exact: in float64."""
    with lifted(), torch.random.fork_rng(), mode_of(exact, True), without_cache(exact), state_kept(exact):
        torch.manual_seed(SEED)
        outputs = [leaf for leaf in tensors_in(inputs.map(lift).call(exact)) if _trains(leaf)]
        loss = sum((output * torch.randn_like(output)).sum() for output in outputs)
        wanted = [parameter for parameter in parameters if parameter.requires_grad]
        found = iter(torch.autograd.grad(loss, wanted, allow_unused=True) if outputs else [None] * len(wanted))
        return [next(found) if parameter.requires_grad else None for parameter in parameters]


def _trains(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad


def check_gradients(before: Gradients, after: Gradients, what: str) -> Check:
    """Each parameter's relative to its own scale; a parameter that is not reached has zeros."""
    least = least_scale([one for one in before if one is not None] or [torch.zeros(1)])
    worst = 0.0
    for one, other in zip(before, after):
        if one is not None or other is not None:
            zeros = torch.zeros_like(one if one is not None else other)  # type: ignore[arg-type]
            rows = Rows(zeros if other is None else other, zeros if one is None else one)
            apart, scale = float(rows.apart.max()), max(float(rows.scale.max()), least)
            worst = max(worst, apart / scale if scale else apart)
    return Check(what, "gradients", worst, LIMIT)
