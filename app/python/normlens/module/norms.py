"""The norm that takes a LayerNorm's place."""

from __future__ import annotations

from typing import Optional, Sequence

import torch
from torch import nn
from torch.nn import functional


class AffineRMSNorm(nn.RMSNorm):
    """nn.RMSNorm with what a LayerNorm may have beyond it: a bias (β), and channels in axis 1.

    y = x / sqrt(mean(x²) + eps) * weight + bias, over the last axes (normalized_shape), or over axis 1 of
    [batch, channels, ...] where channels_first. weight and bias are called as LayerNorm's, so that a state dict fits.
    """

    def __init__(self, normalized_shape: Sequence[int], eps: float, affine: bool, channels_first: bool = False) -> None:
        super().__init__(list(normalized_shape), eps=eps, elementwise_affine=affine)
        self.channels_first = channels_first
        self.register_parameter("bias", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.channels_first:
            x = x.movedim(1, -1)
        y = functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)
        if self.bias is not None:
            y = y + self.bias
        return y.movedim(-1, 1) if self.channels_first else y

    def extra_repr(self) -> str:
        more = (f", bias={self.bias is not None}") + (", channels_first=True" if self.channels_first else "")
        return super().extra_repr() + more


def rms_norm_like(norm: nn.LayerNorm, channels_first: bool, bias: Optional[nn.Parameter]) -> nn.RMSNorm:
    """Shares the LayerNorm's own weight, and this bias; plain nn.RMSNorm where that is all that is needed."""
    affine = norm.weight is not None
    shape = tuple(norm.normalized_shape)
    if bias is None and not channels_first:
        new = nn.RMSNorm(list(shape), eps=norm.eps, elementwise_affine=affine)
    else:
        new = AffineRMSNorm(shape, norm.eps, affine, channels_first)
        new.bias = bias
    if affine:
        new.weight = norm.weight
    new.training = norm.training
    return new


def normalizes(norm: nn.LayerNorm, x: torch.Tensor, y: torch.Tensor) -> Optional[bool]:
    """Whether y = norm(x) is the LayerNorm of axis 1 (True), of the last axes (False), or something else (None).

    A subclass may do as it likes: it is asked by what it computed.
    """
    tolerance = {torch.float64: 1e-9, torch.float32: 1e-4}.get(y.dtype, 0.1)

    def equals(given: torch.Tensor, channels_first: bool) -> bool:
        if tuple(given.shape[-len(norm.normalized_shape) :]) != tuple(norm.normalized_shape):
            return False
        exact = functional.layer_norm(given, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        exact = exact.movedim(-1, 1) if channels_first else exact
        return exact.shape == y.shape and torch.allclose(exact, y, rtol=tolerance, atol=tolerance)

    with torch.no_grad():
        if equals(x, False):
            return False
        if x.dim() > 2 and len(norm.normalized_shape) == 1 and equals(x.movedim(1, -1), True):
            return True
    return None
