"""Example inputs of a module, and others like them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, Callable, Dict, Tuple

import torch
from torch import nn
from torch.utils import _pytree as pytree

from normlens.module.contract import memory_axes


@dataclasses.dataclass(frozen=True)
class Inputs:
    args: Tuple[Any, ...] = ()
    kwargs: Dict[str, Any] = dataclasses.field(default_factory=dict)

    def map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> "Inputs":
        """The same with each tensor changed: one that is given twice stays one, and each is as like() has it."""
        changed: Dict[int, torch.Tensor] = {}

        def leaf(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and id(value) not in changed:
                changed[id(value)] = like(value, change(value))
            return changed.get(id(value), value)

        return Inputs(*pytree.tree_map(leaf, (self.args, self.kwargs)))

    def tensors(self) -> "list[torch.Tensor]":
        return [leaf for leaf in pytree.tree_leaves((self.args, self.kwargs)) if isinstance(leaf, torch.Tensor)]

    def call(self, module: nn.Module) -> Any:
        """On copies: a model may write to what it is given."""
        copies = self.map(torch.clone)
        return module(*copies.args, **copies.kwargs)

    def by_parameter(self, module: nn.Module) -> Dict[str, Any]:
        """Parameter of forward -> what is given for it; *args as a tuple, what **kwargs takes as a dict."""
        return dict(inspect.signature(module.forward).bind(*self.args, **self.kwargs).arguments)

    def text(self) -> Tuple[str, ...]:
        def of(value: Any) -> str:
            if not isinstance(value, torch.Tensor):
                return repr(value)[:40]
            return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"

        named = [(str(place), value) for place, value in enumerate(self.args)] + list(self.kwargs.items())
        return tuple(f"{name}: {of(value)}" for name, value in named)


def like(given: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """The new tensor, which looks like the given one to code that checks: laid out as it, a parameter, or with a gradient."""
    if new is given:
        return new
    axes = memory_axes(given)
    if axes and axes[-1] >= 0 and new.dim() == given.dim() and new.layout is torch.strided and memory_axes(new) != axes:
        new = torch.empty_permuted(new.shape, axes, dtype=new.dtype, device=new.device).copy_(new)
    grad = given.requires_grad and (new.is_floating_point() or new.is_complex())
    if isinstance(given, nn.Parameter):
        return nn.Parameter(new.detach(), grad)
    return new if new.requires_grad == grad else new.detach().requires_grad_(grad)


def as_inputs(example: Any) -> Inputs:
    """example: a tensor; a tuple or list (the arguments in order); a mapping (by name, as a tokenizer gives them); or a
    pair (arguments, names) of a tuple and a dict. TypeError for None and anything else."""
    if isinstance(example, Inputs):
        return example
    if isinstance(example, torch.Tensor):
        return Inputs((example,))
    if isinstance(example, Mapping):
        return Inputs((), dict(example))
    if isinstance(example, (tuple, list)):
        if len(example) == 2 and isinstance(example[0], tuple) and isinstance(example[1], dict):
            return Inputs(example[0], dict(example[1]))
        return Inputs(tuple(example))
    raise TypeError(
        "example_inputs are needed to export a module: a tensor, a tuple of arguments, or a dict of them by name"
        + ("" if example is None else f", not {type(example).__name__}")
    )


def drawn(inputs: Inputs, seed: int) -> Inputs:
    """Other values of the same shapes and types: floats from a normal distribution as wide as the example's, integers
    between the example's smallest and largest (a table's length is not known). Booleans stay: they are masks."""
    generator = torch.Generator().manual_seed(seed)

    def draw(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.numel() == 0 or tensor.dtype == torch.bool or tensor.is_complex():
            return tensor
        if tensor.is_floating_point():
            wide = tensor.double().std().item() if tensor.numel() > 1 else 1.0
            wide = wide if 0 < wide < float("inf") else 1.0
            return (torch.randn(tensor.shape, generator=generator, dtype=torch.float64) * wide).to(tensor)
        low, high = int(tensor.min()), int(tensor.max())
        return torch.randint(low, high + 1, tensor.shape, generator=generator).to(tensor)

    return inputs.map(draw)


def twice(inputs: Inputs) -> Inputs:
    """Each tensor twice along its first axis: a larger batch, where the module takes one."""
    return inputs.map(lambda tensor: torch.cat([tensor, tensor]) if tensor.dim() else tensor)


def widened(inputs: Inputs, widths: "set[int]") -> "list[tuple[str, Inputs]]":
    """(which axis has size 1, the same inputs with a larger one there): for each float tensor and each of its axes of
    size 1, the sizes that other inputs have there, aligned from the end where a model broadcasts, and these widths."""
    tensors = inputs.tensors()
    found = []
    for place, tensor in enumerate(tensors):
        narrow = [axis for axis in range(-tensor.dim(), 0) if tensor.shape[axis] == 1]
        for axis in narrow if tensor.is_floating_point() else ():
            sizes = {other.shape[axis] for other in tensors if other.dim() >= -axis} | widths
            for size in sorted(sizes - {0, 1}):
                shape = list(tensor.shape)
                shape[axis] = size
                wide = torch.randn(shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64).to(tensor)
                found.append((f"input {place} has size 1 in axis {axis}", _with(inputs, tensor, wide)))
    return found


def _with(inputs: Inputs, old: torch.Tensor, new: torch.Tensor) -> Inputs:
    return inputs.map(lambda tensor: new if tensor is old else tensor)
