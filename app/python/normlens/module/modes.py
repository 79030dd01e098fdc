"""A module in another state for a while: evaluating or training, in float64."""

from __future__ import annotations

import collections
import contextlib
import copy
import io
import logging
import random
import sys
import warnings
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from normlens.module.contract import CONSTANTS
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
    """A dropout of nothing is left out, so that no graph has one: it is the identity, in training too. every: all are."""

    def __init__(self, every: bool = False) -> None:
        super().__init__()
        self.every = every

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        name = getattr(function, "__name__", "")
        vain = name == "dropout" and (args[1] if len(args) > 1 else given.get("p")) == 0
        if vain or (self.every and name in DROPOUTS):
            return args[0] if args else given["input"]
        return function(*args, **given)


DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "feature_dropout")


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


# Torch itself keeps these in every module: parameters, submodules, hooks.
COMMON = vars(nn.Module()).keys()
CONTAINERS = (list, dict, set, collections.deque)
PLAIN = (*CONSTANTS, type(sys), type(len))  # nothing in them is a call's
State = Dict[int, Tuple[Any, Any]]  # containers with what they contain, and tensors with their numbers, by identity


def _plain_attributes(part: nn.Module) -> Dict[str, Any]:
    return {name: value for name, value in vars(part).items() if name not in COMMON}


class _Slots(Dict[str, Any]):
    """Values of an object's __slots__."""

    @staticmethod
    def of(value: Any) -> "_Slots":
        names = [vars(kind).get("__slots__", ()) for kind in type(value).__mro__]
        flat = [name for some in names for name in ([some] if isinstance(some, str) else some)]
        return _Slots({name: getattr(value, name) for name in flat if name != "__dict__" and hasattr(value, name)})

    def restore(self, value: Any) -> None:
        for name, now in _Slots.of(value).items():
            if name not in self:
                delattr(value, name)
            elif now is not self[name]:
                setattr(value, name, self[name])
        for name in self.keys() - _Slots.of(value).keys():
            setattr(value, name, self[name])


def _within(value: Any) -> Iterator[Any]:
    """What a container or an object holds."""
    if isinstance(value, (*CONTAINERS, tuple)):
        yield from value.values() if isinstance(value, dict) else value
    if isinstance(getattr(value, "__dict__", None), dict):
        yield vars(value)
    yield from _Slots.of(value).values()


def _state_of(module: nn.Module) -> State:
    """Buffers and plain attributes, and so on of the objects in them; of what has no attributes only which it is."""
    state: State = {id(one): (one, one) for one in module.parameters()}
    waiting: List[Any] = []

    def hold(value: Any) -> None:
        if id(value) in state or isinstance(value, PLAIN):
            return
        if isinstance(value, torch.Tensor):
            state[id(value)] = (value, value.detach().clone())
        elif isinstance(value, (torch.Generator, random.Random)):
            state[id(value)] = (value, value.getstate() if isinstance(value, random.Random) else value.get_state())
        elif isinstance(value, CONTAINERS):
            state[id(value)] = (value, dict(value) if isinstance(value, dict) else list(value))
        elif slots := _Slots.of(value):
            state[id(value)] = (value, slots)
        inside = list(_within(value))
        if inside:
            state.setdefault(id(value), (value, value))
            waiting.extend(inside)

    for part in module.modules():
        state[id(vars(part))] = (vars(part), dict(vars(part)))
        for value in [part._buffers, *part._buffers.values(), *_plain_attributes(part).values()]:
            hold(value)
    while waiting:
        hold(waiting.pop())
    return state


@torch.no_grad()
def _restore(state: State) -> None:
    for value, before in state.values():
        if isinstance(value, torch.Tensor):
            _ = _alike(value, before) or value.copy_(before)
        elif isinstance(value, (torch.Generator, random.Random)):
            _ = value.setstate(before) if isinstance(value, random.Random) else value.set_state(before)
        elif isinstance(before, _Slots):
            before.restore(value)
        elif value is not before and _flat(value) != _flat(before):
            value.clear()
            (value.extend if hasattr(value, "extend") else value.update)(before)


def _flat(container: Any) -> List[int]:
    """Identities of what it contains."""
    return [id(one) for one in ((*container, *container.values()) if isinstance(container, dict) else container)]


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    try:
        return one is other or torch.equal(one, other)
    except Exception:  # torch compares no sparse tensors
        return False


def _reached(value: Any) -> List[Any]:
    """An attribute and whatever it holds, but no submodule."""
    found: Dict[int, Any] = {}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) not in found and not isinstance(one, (nn.Module, *PLAIN)):
            found[id(one)] = one
            waiting.extend(() if isinstance(one, torch.Tensor) else _within(one))
    return list(found.values())


def _left(module: nn.Module, state: State) -> Iterator[Tuple[str, List[torch.Tensor]]]:
    """(attribute, tensors in it that are new since then, or have other numbers)"""
    for path, part in module.named_modules():
        for name, value in _plain_attributes(part).items():
            dense = [one for one in _reached(value) if getattr(one, "layout", None) is torch.strided]
            new = [leaf.clone() for leaf in dense if not _alike(leaf, state.get(id(leaf), (leaf, None))[1])]
            if new:
                yield f"{path}.{name}".lstrip("."), new


def _numbers(holder: Any) -> Dict[Any, Any]:
    """By name or place."""
    entries = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
    return {name: one for name, one in entries if isinstance(one, (int, float)) and not isinstance(one, bool)}


def _changed(before: Any, now: Any) -> Set[Any]:
    """Names or places of its numbers that are others."""
    return {name for name, _ in _numbers(before).items() - _numbers(now).items()} if isinstance(now, (dict, list)) else set()


def _counted(module: nn.Module, state: State) -> Iterator[str]:
    """Attributes whose numbers, or those of what they hold, are others than then."""
    for path, part in module.named_modules():
        own = _changed(state[id(vars(part))][1], vars(part))
        for name, value in _plain_attributes(part).items():
            held = [(state[id(one)][1], _Slots.of(one) or one) for one in _reached(value) if id(one) in state]
            if name in own or any(_changed(before, now) for before, now in held):
                yield f"{path}.{name}".lstrip(".")


@contextlib.contextmanager
def state_kept(module: nn.Module, first: bool = False, left: Optional[Dict[str, Any]] = None) -> Iterator[None]:
    """What a run leaves in buffers and plain attributes, such as statistics of a BatchNorm, a counter or a cache, is taken
    back. first: except where it changes parameters or submodules too, as the first call of some modules does: then the
    attributes record that it did. left: takes the tensors that the run left in plain attributes, by name; and None by the
    names of those in which it changed a number."""
    state, parts, own = _state_of(module), list(module.modules()), list(module.parameters())
    numbers = [torch.empty(0) if nn.parameter.is_lazy(one) else one.detach().clone() for one in own if first]
    try:
        yield
    finally:
        if left is not None:
            left.update(dict.fromkeys(_counted(module, state)) | dict(_left(module, state)))
        if not first or (parts == list(module.modules()) and all(map(_alike, own, numbers))):
            _restore(state)


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
