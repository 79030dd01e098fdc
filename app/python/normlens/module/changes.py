"""Changes of a module that can be taken back, last first."""

from __future__ import annotations

from typing import Any, Callable, List, Sequence, Set

import torch
from torch import nn

from normlens.module.owners import Owner


class Changes:
    """undo() leaves the module as it was: the same objects with the same numbers. names: of changed parameters and modules."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.names: Set[str] = set()
        self._back: List[Callable[[], Any]] = []

    def tensor(self, owner: Owner) -> torch.Tensor:
        return getattr(self.module.get_submodule(owner.module), owner.attribute)

    def overwrite(self, owner: Owner, value: torch.Tensor) -> None:
        """In place: whoever else holds the tensor sees it, an optimizer too."""
        self.names.add(str(owner))
        tensor = self.tensor(owner)
        before = tensor.detach().clone()
        self._back.append(lambda: _copy(tensor, before))
        _copy(tensor, value)

    def write(self, mine: Sequence[Owner], everyone: Sequence[Owner], value: torch.Tensor) -> bool:
        """Gives these owners that value, in their own type; whether they were untied from the other owners."""
        mine_now = {id(tensor): (tensor, owner) for owner in mine for tensor in [self.tensor(owner)]}
        others = {self.tensor(owner).data_ptr() for owner in everyone if owner not in mine}
        if not any(tensor.data_ptr() in others for tensor, _ in mine_now.values()):
            for _, owner in mine_now.values():
                self.overwrite(owner, value)
            return False
        old = self.tensor(mine[0])
        new = value.detach().to(old.dtype).clone()
        new = nn.Parameter(new, old.requires_grad) if isinstance(old, nn.Parameter) else new
        self.names.update(map(str, mine))
        for owner in mine:
            self.set(self.module.get_submodule(owner.module), owner.attribute, new)
        return True

    def replace_module(self, path: str, new: nn.Module) -> None:
        """Under each name that the module has."""
        self.names.add(path)
        old = self.module.get_submodule(path)
        for parent in list(self.module.modules()):
            for name, child in list(parent._modules.items()):
                if child is old:
                    self._back.append(lambda parent=parent, name=name: parent._modules.__setitem__(name, old))
                    parent._modules[name] = new

    def set(self, holder: Any, attribute: str, value: Any) -> None:
        before = getattr(holder, attribute)
        self._back.append(lambda: setattr(holder, attribute, before))
        setattr(holder, attribute, value)

    def remember(self, back: Callable[[], Any]) -> None:
        self._back.append(back)

    def undo(self) -> None:
        while self._back:
            self._back.pop()()


def _copy(tensor: torch.Tensor, value: torch.Tensor) -> None:
    with torch.no_grad():
        tensor.copy_(value)
