"""The norm that takes a LayerNorm's place, and which modules are LayerNorms by what they compute."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Iterator, List, Optional, Sequence, Tuple, Type, Union

import torch
from torch import nn
from torch.nn import functional

from normlens.module.contract import CONSTANTS
from normlens.module.modes import lifted, quiet, twin

NEAR = 1e-10  # of the largest number, in float64


class AffineRMSNorm(nn.RMSNorm):
    """nn.RMSNorm with what a LayerNorm may have beyond it: a bias (β), channels in axis 1, and a weight (γ) that differs
    along axes that are not normalized, such as one for each head.

    y = x / sqrt(mean(x²) + eps) * weight + bias, over the last axes (normalized_shape), or over axis 1 of
    [batch, channels, ...] where channels_first. weight and bias are called as LayerNorm's, so that a state dict fits.
    The result has the type that LayerNorm's has: on the CPU that of x, under torch.autocast too; CUDA's autocast makes it
    float32 there, as it does a LayerNorm's (torch/include/ATen/autocast_mode.h, AT_FORALL_FP32).
    """

    def __init__(self, normalized_shape: Sequence[int], eps: float, affine: bool, channels_first: bool = False) -> None:
        super().__init__(list(normalized_shape), eps=eps, elementwise_affine=affine)
        self.channels_first = channels_first
        self.register_parameter("bias", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.channels_first:
            x = x.movedim(1, -1)
        wide = self.weight is not None and self.weight.shape != self.normalized_shape
        y = functional.rms_norm(x, self.normalized_shape, None if wide else self.weight, self.eps)
        y = y * self.weight if wide else y
        if self.bias is not None:
            y = y + self.bias
        y = _typed(y, x)
        return y.movedim(-1, 1) if self.channels_first else y

    def extra_repr(self) -> str:
        more = (f", bias={self.bias is not None}") + (", channels_first=True" if self.channels_first else "")
        return super().extra_repr() + more


def _typed(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """On the CPU torch's LayerNorm and GroupNorm give x's type, whatever gamma's is."""
    return y.to(x.dtype) if y.dtype != x.dtype and x.device.type == "cpu" else y


class GroupRMSNorm(nn.RMSNorm):
    """y = x / sqrt(mean(x² over each group of channels) + eps) * weight + bias, for what nn.GroupNorm takes without space:
    [batch, channels], perhaps with axes of size 1 behind. weight and bias are called as GroupNorm's."""

    def __init__(self, num_groups: int, channels: int, eps: float) -> None:
        super().__init__([channels // num_groups], eps=eps, elementwise_affine=False)
        self.num_groups = num_groups
        self.register_parameter("bias", None)

    def rows(self, x: torch.Tensor) -> torch.Tensor:
        if math.prod(x.shape[2:]) != 1:  # GroupNorm's mean goes over all positions there
            raise ValueError(f"a folded GroupNorm takes one position for each channel, not {list(x.shape[2:])}")
        return x.reshape(x.shape[0], self.num_groups, *self.normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.rms_norm(self.rows(x), self.normalized_shape, None, self.eps).reshape(x.shape)
        if self.weight is not None:
            y = y * self.weight.reshape(-1, *x.shape[2:])
        if self.bias is not None:
            y = y + self.bias.reshape(-1, *x.shape[2:])
        return _typed(y, x)

    def extra_repr(self) -> str:
        channels = self.num_groups * self.normalized_shape[0]
        return f"{self.num_groups}, {channels}, eps={self.eps}, affine={self.weight is not None}"


class GroupNormForm:
    """What nn.GroupNorm computes; as LayerNormForm."""

    def rms_norm(self, part: nn.Module, bias: bool = True) -> nn.RMSNorm:
        assert isinstance(part, nn.GroupNorm)
        new = GroupRMSNorm(part.num_groups, part.num_channels, part.eps)
        new.weight, new.bias = part.weight, part.bias if bias else None
        new.training = part.training
        return new

    def describes(self, part: nn.Module, taken: Sequence[Tuple[torch.Tensor, torch.Tensor]]) -> bool:
        return _is_plain(part, nn.GroupNorm)


@dataclasses.dataclass(frozen=True)
class LayerNormForm:
    """What a module computes that is a LayerNorm: y = (x - mean(x)) / sqrt(var(x) + eps) * γ + β.

    shape: of an input that it took. sizes: those that are normalized, of the last axes, or of axis 1 where channels_first.
    γ and β are not a part of it: they are read off the module as its numbers are at that moment.
    """

    shape: Tuple[int, ...]
    sizes: Tuple[int, ...]
    eps: float
    channels_first: bool

    def normalized(self, x: torch.Tensor) -> torch.Tensor:
        """Without γ and β; channels last."""
        x = x.movedim(1, -1) if self.channels_first else x
        return functional.layer_norm(x, self.sizes, eps=self.eps)

    def affine(self, part: nn.Module) -> Tuple[torch.Tensor, torch.Tensor]:
        """(γ, β) in float64, channels last, from what the module makes of alternating signs: no element is near their mean."""
        signs = (1.0 - 2 * (torch.arange(math.prod(self.sizes)) % 2)).double().reshape(self.sizes)
        shape = (self.shape[0], *self.shape[2:], self.shape[1]) if self.channels_first else self.shape
        x = signs.expand(shape).movedim(-1, 1) if self.channels_first else signs.expand(shape)
        x = x.to(next((one.device for one in part.parameters()), x.device))
        exact = twin(part).eval()
        one, other = (self._last(_outcome(exact, given)) for given in (x, -x))
        return (one - other) / (2 * self.normalized(x)), (one + other) / 2

    def rms_norm(self, part: nn.Module, bias: bool = True) -> nn.RMSNorm:
        """Shares the module's own parameters where they are γ and β; plain nn.RMSNorm where that is all that is needed.
        bias: whether it has one, if the module does. ValueError where it would hold more numbers than the module."""
        gamma, beta = self.affine(part)
        scale = float(torch.cat([gamma, beta]).abs().max())
        weight = self._held(part, "weight", gamma, 1, scale)
        shift = self._held(part, "bias", beta, 0, scale) if bias else None
        if shift is None and not self.channels_first and (weight is None or tuple(weight.shape) == self.sizes):
            new = nn.RMSNorm(list(self.sizes), eps=self.eps, elementwise_affine=weight is not None)
        else:
            new = AffineRMSNorm(self.sizes, self.eps, weight is not None, self.channels_first)
            new.bias = shift
        if weight is not None:
            new.weight = weight
        new.training = part.training
        return new

    def describes(self, part: nn.Module, taken: Sequence[Tuple[torch.Tensor, torch.Tensor]]) -> bool:
        """Whether the module computes nothing else: not at inputs of other sizes and scales, not while it trains, and nothing
        is left of a call in its buffers and attributes. taken: inputs and outputs that were seen. Raises whatever it raises."""
        new = self.rms_norm(part)
        for training in (False, True):
            exact = twin(part).train(training)
            numbers = self.rms_norm(exact)
            weight, bias = 1 if numbers.weight is None else numbers.weight, getattr(numbers, "bias", None)
            before = _state(exact)
            for x, must_run in (*[(x.double(), True) for x, _ in taken], *self._drawn()):
                x = x.to(taken[0][0].device)
                try:
                    y = self._last(_outcome(exact, x))
                except Exception:
                    if must_run:
                        raise
                    continue
                if not _near(y, self.normalized(x) * weight + (0 if bias is None else bias)):
                    return False
            if before != _state(exact):
                return False
        outcomes = [(new(x.detach()), y) for x, y in taken]
        return all(one.dtype == other.dtype and one.shape == other.shape for one, other in outcomes)

    def _last(self, y: torch.Tensor) -> torch.Tensor:
        return y.movedim(1, -1) if self.channels_first else y

    def _held(self, part: nn.Module, name: str, value: torch.Tensor, neutral: int, scale: float) -> Optional[nn.Parameter]:
        """The module's parameter of that name where it has this value, else a new one, or None where none is needed."""
        known = getattr(part, name, None)
        if isinstance(known, torch.Tensor) and _near(value, known.detach().double(), scale):
            return known if isinstance(known, nn.Parameter) else nn.Parameter(known, requires_grad=False)
        if bool((value == neutral).all()):
            return None
        own = [*part.parameters(), *part.buffers()]
        for axis in range(value.dim() - len(self.sizes)):  # those along which it does not change
            first = value.narrow(axis, 0, 1)
            value = first if _near(value, first, scale) else value
        while value.dim() > len(self.sizes) and value.shape[0] == 1:
            value = value[0]
        if value.numel() > sum(one.numel() for one in own):
            raise ValueError("numbers that the module does not hold")
        return nn.Parameter(value.to(own[0].dtype), any(one.requires_grad for one in own))

    def _drawn(self) -> Iterator[Tuple[torch.Tensor, bool]]:
        """(an input, whether the module has to take it)"""
        generator = torch.Generator().manual_seed(6)
        for scale, offset in ((1.0, 0.0), (100.0, 30.0), (math.sqrt(self.eps), 0.0)):
            yield torch.randn(self.shape, generator=generator, dtype=torch.float64) * (scale or 1e-6) + offset, True
        last = len(self.shape) if self.channels_first else len(self.shape) - len(self.sizes)
        for axis in range(last):  # that are not normalized
            for size in (1, self.shape[axis] + 1) if not self.channels_first or axis != 1 else ():
                shape = (*self.shape[:axis], size, *self.shape[axis + 1 :])
                yield torch.randn(shape, generator=generator, dtype=torch.float64), False


def layer_norm_form(
    part: nn.Module, taken: Sequence[Tuple[torch.Tensor, torch.Tensor]], sizes: Sequence[int], eps: float
) -> Union[LayerNormForm, GroupNormForm, None]:
    """How the module is a LayerNorm of these sizes, proved on the module alone in float64; None where it is none."""
    if _is_plain(part, nn.GroupNorm):
        return GroupNormForm()
    if _is_plain(part, nn.LayerNorm):
        return LayerNormForm((1, *part.normalized_shape), tuple(part.normalized_shape), part.eps, False)  # type: ignore[arg-type]
    for channels_first in (False, True):
        form = LayerNormForm(tuple(taken[-1][0].shape), tuple(sizes), eps, channels_first)
        try:
            with torch.no_grad(), torch.random.fork_rng(), quiet():
                if form.describes(part, taken):
                    return form
        except Exception:  # the code of the module runs: anything may come
            continue
    return None


def _is_plain(part: nn.Module, kind: Type[nn.Module]) -> bool:
    return type(part).forward is kind.forward and "forward" not in vars(part)


def _outcome(exact: nn.Module, x: torch.Tensor) -> Any:
    """Without the module's hooks."""
    with torch.no_grad(), lifted():
        return exact.forward(x.clone())


def _near(one: torch.Tensor, other: torch.Tensor, scale: float = 0.0) -> bool:
    """other: broadcast to the first one's shape."""
    ends = zip(reversed(one.shape), reversed(other.shape))
    fits = other.dim() <= one.dim() and all(b in (1, a) for a, b in ends)
    return fits and bool((one - other).abs().max() <= NEAR * other.abs().max().clamp_min(scale))


def _state(part: nn.Module) -> List[Any]:
    """What a call may leave behind."""
    parts = [(path, {**vars(one), **one._parameters, **one._buffers}) for path, one in part.named_modules()]
    held = [(path, name, value) for path, all_of_it in parts for name, value in all_of_it.items()]
    tensors = [(path, name, value.tolist()) for path, name, value in held if isinstance(value, torch.Tensor)]
    return tensors + [one for one in held if isinstance(one[2], CONSTANTS)]
