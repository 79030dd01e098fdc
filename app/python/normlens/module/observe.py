"""What the modules of a model take and give when it runs."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Tuple, Union

import torch
from torch import nn

from normlens.module.inputs import Inputs
from normlens.module.modes import state_kept
from normlens.module.norms import GroupNormForm, LayerNormForm, layer_norm_form
from normlens.report.report import Norm


@dataclasses.dataclass
class Observed:
    """By module path. calls: how often it ran. gives: the shape of its last output, None for what is no tensor.
    taken: of norms, inputs and outputs; None where a call had other arguments. undone: norms, and policies, of which a fold was
    undone, and why."""

    calls: Dict[str, int] = dataclasses.field(default_factory=dict)
    gives: Dict[str, Optional[Tuple[int, ...]]] = dataclasses.field(default_factory=dict)
    taken: Dict[str, Optional[List[Tuple[torch.Tensor, torch.Tensor]]]] = dataclasses.field(default_factory=dict)
    undone: Dict[str, str] = dataclasses.field(default_factory=dict)
    _forms: Dict[Any, Union[LayerNormForm, GroupNormForm, None]] = dataclasses.field(default_factory=dict)

    def form(self, module: nn.Module, norm: Norm) -> Any:
        """How the module of that norm is a LayerNorm; None where it is none."""
        key = (norm.path, norm.shape, norm.eps)
        if key not in self._forms:
            part, taken = module.get_submodule(norm.path), self.taken.get(norm.path)
            self._forms[key] = layer_norm_form(part, taken, norm.shape, norm.eps) if taken else None
        return self._forms[key]


@contextlib.contextmanager
def _hooked(module: nn.Module, seen: Observed, norms: Collection[str]) -> Iterator[None]:
    paths: Dict[int, str] = {id(part): path for path, part in module.named_modules()}

    def look(part: nn.Module, args: Any, kwargs: Mapping[str, Any], output: Any) -> None:
        path = paths[id(part)]
        seen.calls[path] = seen.calls.get(path, 0) + 1
        seen.gives[path] = tuple(output.shape) if isinstance(output, torch.Tensor) else None
        if path in norms:
            plain = len(args) == 1 and not kwargs and isinstance(args[0], torch.Tensor) and isinstance(output, torch.Tensor)
            before = seen.taken.get(path, [])
            seen.taken[path] = [*before, (args[0], output)] if plain and before is not None else None

    handles = [part.register_forward_hook(look, with_kwargs=True) for part in module.modules()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def observe(module: nn.Module, inputs: Inputs, norms: Collection[str] = ()) -> Observed:
    """Runs it once, as it is. What refuses to run with hooks on it (torch.cond compiles its branches) is not observed.
    norms: paths of the modules that LayerNorms are computed in."""
    seen = Observed()
    with torch.no_grad(), state_kept(module, first=True):
        try:
            with _hooked(module, seen, norms):
                inputs.call(module)
        except Exception:
            inputs.call(module)  # what is wrong with the inputs is raised here
            return Observed()
    return seen
