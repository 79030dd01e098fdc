"""One check of a folded module's contract at each call."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Dict, Iterator, Optional, Set

import torch
from torch import nn

from normlens.errors import OutsideContract
from normlens.module.contract import PLAIN, Contract

MOST_KNOWN = 4096


class Guard:
    """A forward pre-hook. action: "warn" at the first call outside the contract, or "raise" at each.

    Calls of a form that was accepted before cost one look into a set. torch.compile and torch.export leave the check out.
    """

    def __init__(self, contract: Contract, action: str) -> None:
        self.contract, self.action = contract, action
        self._known: Set[Any] = set()
        self._relations: Any = None

    def __getstate__(self) -> Dict[str, Any]:
        return {"contract": self.contract, "action": self.action}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __call__(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        if torch.compiler.is_compiling() or not self.action:
            return
        try:
            form = (*map(_form, args), *[(name, _form(value)) for name, value in kwargs.items()])
            if form in self._known:
                return
        except TypeError:
            return  # sizes without numbers: the call is traced
        broken = self._broken(args, kwargs)
        if broken is None:
            if len(self._known) < MOST_KNOWN:
                self._known.add(form)
            return
        text = f"{type(module).__name__} was folded for other calls: {broken}; its outputs may differ from the original's here"
        if self.action == "raise":
            raise OutsideContract(text)
        self.action = ""
        warnings.warn(f"{text} (normlens.unguard removes this check)", stacklevel=5)

    def _broken(self, args: Any, kwargs: Any) -> Optional[str]:
        arguments = self.contract.arguments(args, kwargs)
        broken = self.contract.broken_by(arguments)
        if broken is not None:
            return broken
        if self._relations is None:
            self._relations = [(one, compile(one.source, "<contract>", "eval")) for one in self.contract.relations]
        for relation, code in self._relations:
            if not eval(code, {"__builtins__": {"min": min, "max": max}, "L": arguments}):
                return f"{relation} does not hold"
        return None


def _form(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.dtype, value.shape, value.is_contiguous()
    if isinstance(value, PLAIN):
        return type(value), value
    if isinstance(value, (list, tuple)):
        return (type(value), *map(_form, value))
    if isinstance(value, dict):
        return (dict, *[(name, _form(one)) for name, one in value.items()])
    return type(value)


def attach(module: nn.Module, contract: Contract, action: str) -> None:
    remove(module)
    module.register_forward_pre_hook(Guard(contract, action), with_kwargs=True, prepend=True)


def remove(part: nn.Module) -> None:
    for key, hook in list(part._forward_pre_hooks.items()):
        if isinstance(hook, Guard):
            del part._forward_pre_hooks[key]
            part._forward_pre_hooks_with_kwargs.pop(key, None)


@contextlib.contextmanager
def unguarded(module: nn.Module) -> Iterator[None]:
    """While the package itself calls the module with other arguments."""
    guards = [hook for part in module.modules() for hook in part._forward_pre_hooks.values() if isinstance(hook, Guard)]
    before = [guard.action for guard in guards]
    for guard in guards:
        guard.action = ""
    try:
        yield
    finally:
        for guard, action in zip(guards, before):
            guard.action = action
