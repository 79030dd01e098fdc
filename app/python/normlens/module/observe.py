"""What the modules of a model take and give when it runs."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Dict, Iterator, Optional, Tuple

import torch
from torch import nn

from normlens.module.inputs import Inputs
from normlens.module.modes import buffers_kept
from normlens.module.norms import normalizes


@dataclasses.dataclass
class Observed:
    """By module path. calls: how often it ran. gives: the shape of its last output, None for what is no tensor.
    channels_first: of a LayerNorm, over which axis it normalises; None where it computes something else."""

    calls: Dict[str, int] = dataclasses.field(default_factory=dict)
    gives: Dict[str, Optional[Tuple[int, ...]]] = dataclasses.field(default_factory=dict)
    channels_first: Dict[str, Optional[bool]] = dataclasses.field(default_factory=dict)


@contextlib.contextmanager
def _hooked(module: nn.Module, seen: Observed) -> Iterator[None]:
    paths: Dict[int, str] = {id(part): path for path, part in module.named_modules()}

    def look(part: nn.Module, args: Any, output: Any) -> None:
        path = paths[id(part)]
        seen.calls[path] = seen.calls.get(path, 0) + 1
        seen.gives[path] = tuple(output.shape) if isinstance(output, torch.Tensor) else None
        if isinstance(part, nn.LayerNorm):
            known = normalizes(part, args[0], output) if args and isinstance(output, torch.Tensor) else None
            before = seen.channels_first.get(path, known)
            seen.channels_first[path] = known if known == before else None

    handles = [part.register_forward_hook(look) for part in module.modules()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def observe(module: nn.Module, inputs: Inputs) -> Observed:
    """Runs it once, as it is. What refuses to run with hooks on it (torch.cond compiles its branches) is not observed."""
    seen = Observed()
    with torch.no_grad(), buffers_kept(module):
        try:
            with _hooked(module, seen):
                inputs.call(module)
        except Exception:
            inputs.call(module)  # what is wrong with the inputs is raised here
            return Observed()
    return seen
