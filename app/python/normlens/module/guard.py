"""One check of a folded module's contract at each call."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Dict, Iterator

import torch
from torch import nn
from torch.utils import _pytree as pytree

from normlens.errors import OutsideContract
from normlens.module.contract import Contract

TRACED = ("torch._subclasses", "torch.fx")  # where the classes of tensors without numbers are


class Guard:
    """A forward pre-hook. action: "warn" at the first call outside the contract, or "raise" at each.

    A call inside costs one compiled condition. torch.compile, torch.export, torch.jit.trace and whatever else traces leave the check out.
    """

    def __init__(self, contract: Contract, action: str) -> None:
        self.contract, self.action = contract, action
        self._check = contract.check()

    def __getstate__(self) -> Dict[str, Any]:
        return {"contract": self.contract, "action": self.action}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __call__(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        if torch.compiler.is_compiling() or torch.jit.is_tracing() or not self.action:
            return
        try:
            if self._check(*args, **kwargs):
                return
        except Exception:
            pass  # the call is not even comparable: its report is made below
        broken = self.contract.broken_by(args, kwargs)
        leaves = pytree.tree_leaves((args, kwargs))
        if broken is None or any(type(leaf).__module__.startswith(TRACED) for leaf in leaves):
            return
        text = f"{type(module).__name__} was folded for other calls: {broken}; its outputs may differ from the original's here"
        if self.action == "raise":
            raise OutsideContract(text)
        self.action = ""
        warnings.warn(f"{text} (normlens.unguard removes this check)", stacklevel=5)


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
