"""A module in another state for a while: evaluating or training, in float64."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import warnings
from typing import Any, Iterator, List

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from normlens.module.guard import unguarded


@contextlib.contextmanager
def mode_of(module: nn.Module, training: bool) -> Iterator[None]:
    """Each submodule gets back the mode that it had; guards of contracts are silent meanwhile."""
    before = [(part, part.training) for part in module.modules()]
    module.train(training)
    try:
        with unguarded(module):
            yield
    finally:
        for part, mode in before:
            part.training = mode


class WithoutVainDropout(TorchFunctionMode):
    """A dropout of nothing is left out, so that no graph has one: it is the identity, in training too."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if getattr(function, "__name__", "") == "dropout" and (args[1] if len(args) > 1 else given.get("p")) == 0:
            return args[0] if args else given["input"]
        return function(*args, **given)


def configs_of(module: nn.Module) -> List[Any]:
    """Of models of transformers, each once."""
    held = [getattr(part, "config", None) for part in module.modules()]
    return list({id(config): config for config in held if config is not None}.values())


@contextlib.contextmanager
def without_cache(module: nn.Module) -> Iterator[None]:
    """Models of transformers return a cache of keys and values by default, which torch.export cannot."""
    caching = [config for config in configs_of(module) if getattr(config, "use_cache", None) is True]
    for config in caching:
        config.use_cache = False
    try:
        yield
    finally:
        for config in caching:
            config.use_cache = True


@contextlib.contextmanager
def buffers_kept(module: nn.Module) -> Iterator[None]:
    """What a run writes into buffers, such as statistics of a BatchNorm in training, is taken back."""
    held = [(part, name, tensor) for part in module.modules() for name, tensor in part._buffers.items()]
    before = [(part, name, tensor, tensor.clone()) for part, name, tensor in held if tensor is not None]
    try:
        yield
    finally:
        with torch.no_grad():
            for part, name, tensor, numbers in before:
                part._buffers[name] = tensor.copy_(numbers)


LESS = (torch.float32, torch.float16, torch.bfloat16)


class _Lifted(TorchFunctionMode):
    """Every type of fewer bits that code names is float64: a cast to float32 on the way would round."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16):
            return args[0].double()
        lifted = {name: torch.float64 if _is_less(value) else value for name, value in (kwargs or {}).items()}
        return function(*(torch.float64 if _is_less(value) else value for value in args), **lifted)


def _is_less(value: Any) -> bool:
    return isinstance(value, torch.dtype) and value in LESS


@contextlib.contextmanager
def lifted() -> Iterator[None]:
    """Where a module of twin() runs."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Lifted():
            yield
    finally:
        torch.set_default_dtype(before)


def twin(module: nn.Module) -> nn.Module:
    """A copy in float64."""
    return copy.deepcopy(module).double()


def lift(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without logs, warnings and stderr: what is tried may fail, and torch.export prints the graph of a failed try."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
