"""The Python file of a folded checkpoint: the original's class with RMSNorms in the places that fold."""

from __future__ import annotations

import dataclasses
import re
from typing import Mapping, Sequence, Tuple

from torch import nn

from normlens.module.norms import AffineRMSNorm
from normlens.module.resolve import CenterOutput

MODULE = "modeling_normlens"

HEAD = '''"""{name} with an RMSNorm in the place of each LayerNorm whose input has no mean. NormLens wrote this file.

The weights are right for the unchanged class too: a LayerNorm subtracts a mean that is zero.
"""

{imports}

# Path of each norm: the sizes that it normalizes over, eps, whether it adds a bias, whether the channels are in axis 1.
NORMS = {{
{norms}}}
'''

CENTER = '''
# Path of each module whose output is centered when it runs: the axes.
CENTERED = {centered}


def center(axes, module, args, output):
    return output - output.mean(axes, keepdim=True)
'''

NORM = '''

class RMSNorm(nn.RMSNorm):
    """Holds the parameters of the LayerNorm whose place it takes."""

    def __init__(self, norm, sizes, eps, has_bias, channels_first):
        super().__init__(sizes, eps=eps, elementwise_affine=False)
        self.weight, self.channels_first = getattr(norm, "weight", None), channels_first
        self.elementwise_affine = self.weight is not None
        self.register_parameter("bias", norm.bias if has_bias else None)

    def forward(self, x):
        x = x.movedim(1, -1) if self.channels_first else x
        y = functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)
        y = y if self.bias is None else y + self.bias
        y = y.to(x.dtype) if x.device.type == "cpu" else y  # the type of a LayerNorm's output
        return y.movedim(-1, 1) if self.channels_first else y


def with_rms_norms(model):
    """Replaces the LayerNorms of NORMS in the model, and returns it."""
    new = {id(model.get_submodule(path)): RMSNorm(model.get_submodule(path), *form) for path, form in NORMS.items()}
    for part in list(model.modules()):
        for name, child in part._modules.items():
            part._modules[name] = new.get(id(child), child)
'''

HOOKS = """    for path, axes in CENTERED.items():
        model.get_submodule(path).register_forward_hook(functools.partial(center, axes))
"""

CLASS = '''

class {name}({base}):
    # Linear layers took these biases in. The file has zeros for them, which the unchanged class reads.
    _keys_to_ignore_on_load_unexpected = [
        *({base}._keys_to_ignore_on_load_unexpected or []),
{absorbed}    ]

    def __init__(self, config, *args, **kwargs):
        super().__init__(config, *args, **kwargs)
        with_rms_norms(self)

    @classmethod
    def is_custom_code(cls):  # if so, old names of weights would not be converted
        return {base}.is_custom_code()
'''


@dataclasses.dataclass(frozen=True)
class Form:
    """The arguments of the file's RMSNorm."""

    sizes: Tuple[int, ...]
    eps: float
    has_bias: bool
    channels_first: bool

    def __str__(self) -> str:
        return f"({list(self.sizes)}, {self.eps!r}, {self.has_bias}, {self.channels_first})"


@dataclasses.dataclass(frozen=True)
class Changed:
    """What the file does to the class. absorbed: names of biases that the new norms do not have."""

    norms: Mapping[str, Form]
    centered: Mapping[str, Tuple[int, ...]]
    absorbed: Sequence[str]


def changed(folded: nn.Module, paths: Sequence[str], before: Mapping[str, nn.Parameter]) -> Changed:
    """paths: of the new norms. before: the parameters of the same module when it was not folded. Left out are norms whose
    numbers are not the parameters themselves, such as one that adds 1 to its weight: the class keeps them, and they compute
    the same."""
    norms, absorbed = {}, []
    for path in paths:
        new = folded.get_submodule(path)
        weight, bias, kept = before.get(f"{path}.weight"), before.get(f"{path}.bias"), getattr(new, "bias", None)
        own = new.weight is weight and (kept is None or kept is bias)
        plain = type(new) in (nn.RMSNorm, AffineRMSNorm) and (weight is None or weight.shape == new.normalized_shape)
        if not own or not plain:
            continue
        norms[path] = Form(tuple(new.normalized_shape), new.eps, kept is not None, getattr(new, "channels_first", False))
        absorbed += [f"{path}.bias"] if bias is not None and kept is None else []
    hooks = {path: part._forward_hooks.values() for path, part in folded.named_modules()}
    centered = {path: tuple(hook.axes) for path, held in hooks.items() for hook in held if isinstance(hook, CenterOutput)}
    return Changed(norms, centered, absorbed)


def code_of(name: str, base: str, imports: str, what: Changed) -> str:
    """base: the class as the file names it, which `imports` brings; "" where nothing is derived from it."""
    norms = "".join(f"    {path!r}: {form},\n" for path, form in what.norms.items())
    absorbed = "".join(f'        r"^{re.escape(one)}$",\n' for one in what.absorbed)
    centers = bool(what.centered)
    lines = ["import functools\n"] * centers + ["from torch import nn", "from torch.nn import functional"]
    parts = [HEAD.format(name=name, imports="\n".join([*lines, *([f"\n{imports}"] if imports else [])]), norms=norms)]
    parts += [CENTER.format(centered=dict(what.centered))] * centers + [NORM] + [HOOKS] * centers + ["    return model\n"]
    return "".join(parts + [CLASS.format(name=name, base=base, absorbed=absorbed)] * bool(base))
