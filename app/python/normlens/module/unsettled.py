"""A module whose numbers do not count: what is found of it holds for any numbers, and so while it is trained."""

from __future__ import annotations

import copy

import torch
from torch import nn


def unsettled(module: nn.Module) -> nn.Module:
    """A copy with other parameters and floating-point buffers, also those that are mere attributes: a γ of ones, a β of zeros
    and a scale of equal numbers are none any more, and a schedule may change a buffer as an optimizer changes a parameter. Tied
    ones stay tied. Signs stay: a variance is no variance with another one."""
    other = copy.deepcopy(module)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in other.parameters():
            if parameter.is_floating_point():
                noise = torch.randn(parameter.shape, generator=generator).to(parameter)
                parameter.add_(noise * (0.1 * parameter.abs().mean() + 0.01))
        held = [value for part in other.modules() for value in vars(part).values() if isinstance(value, torch.Tensor)]
        for buffer in [*other.buffers(), *held]:
            if buffer.is_floating_point():
                noise = torch.rand(buffer.shape, generator=generator).to(buffer)
                moved = buffer * (1 + 0.1 * noise) + 0.01 * noise * (1 - 2 * (buffer < 0).to(buffer))
                buffer.copy_(torch.where(buffer.isfinite(), moved, buffer))
    return other
