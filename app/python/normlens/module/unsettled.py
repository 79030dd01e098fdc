"""A module whose numbers say nothing: what is found of it holds for any numbers, and so while it is trained."""

from __future__ import annotations

import copy

import torch
from torch import nn


def unsettled(module: nn.Module) -> nn.Module:
    """A copy with other parameters: a γ of ones, a β of zeros and a scale of equal numbers are none any more. Tied ones
    stay tied."""
    other = copy.deepcopy(module)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in other.parameters():
            if parameter.is_floating_point():
                noise = torch.randn(parameter.shape, generator=generator).to(parameter)
                parameter.add_(noise * (0.1 * parameter.abs().mean() + 0.01))
    return other
