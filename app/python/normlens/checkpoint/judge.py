"""A folded checkpoint's folder held against the original: what was written is read back, as the unchanged class and as the
class of the fold."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
from typing import Any, List, Tuple

import torch
from torch import nn

from normlens.checkpoint.code import MODULE
from normlens.checkpoint.library import Tensors, imported
from normlens.checkpoint.source import Source, read_source
from normlens.errors import NotEqual
from normlens.module.compare import pairs
from normlens.module.inputs import Inputs, drawn
from normlens.module.modes import twin
from normlens.module.verify import Expected, check_exact, check_own, run, run_exact
from normlens.report.report import Check

CLASSES = ("the written folder, RMSNorms", "the written folder, unchanged class")


@dataclasses.dataclass(frozen=True)
class Judged:
    """outputs: how far the folder's outputs are from the original's in the stored type, relative to the largest number.
    rounding: how far the original's are from its own in float64."""

    checks: Tuple[Check, ...]
    outputs: float
    rounding: float

    def moved(self, dtype: torch.dtype) -> str:
        name, rounding = str(dtype).removeprefix("torch."), f"rounding moves the original's by {self.rounding:.1e}"
        return f"In {name}, outputs moved by {self.outputs:.1e} of the largest; {rounding}."


def judged(made: pathlib.Path, library: Any, source: Source, exact: Tensors, inputs: Inputs, has_code: bool) -> Judged:
    """exact: the folded state dict in float64. has_code: the folder has a class of the fold. Raises NotEqual."""
    dtype = source.stored()
    expected = _expected(library.make(source.config, source.tensors, dtype), inputs, dtype)
    written = read_source(made, trusted=True)
    checks: List[Check] = []
    outputs = 0.0
    with imported(made, MODULE) if has_code else contextlib.nullcontext() as code:
        for what, kind in zip(CLASSES, (code, None)) if has_code else ((CLASSES[1], None),):
            model = library.make(written.config, written.tensors, dtype, kind)
            own = check_own(model, expected)
            outputs = max([outputs, *(_apart(run(model, one.inputs, False), one.output) for one in expected)])
            model = model.double()
            model.load_state_dict({name: exact[name] for name in model.state_dict()})
            checks += [dataclasses.replace(check, what=f"{what}, {check.what}") for check in own + check_exact(model, expected)]
    for check in checks:
        if not check.passed:
            raise NotEqual(
                f"{check.what}: the outputs differ from the original's by {check.difference:.1e} in {check.dtype}, "
                f"{check.limit:.1e} is the most; nothing was written",
                tuple(checks),
            )
    return Judged(tuple(checks), outputs, max(_apart(one.output, one.exact) for one in expected))


def _expected(original: nn.Module, inputs: Inputs, dtype: torch.dtype) -> List[Expected]:
    inputs = inputs.map(lambda one: one.to(dtype) if one.is_floating_point() else one)
    sets = [("the example inputs", inputs), ("drawn inputs", drawn(inputs, 1)), ("other drawn inputs", drawn(inputs, 2))]
    exact = twin(original)
    return [Expected(what, one, run(original, one, False), run_exact(exact, one, False)) for what, one in sets]


def _apart(one: Any, other: Any) -> float:
    """The largest difference of two outputs, relative to the largest number of its tensor."""
    held = [(a, b) for a, b in pairs(one, other) if isinstance(b, torch.Tensor) and b.is_floating_point() and b.numel()]
    return max((float((a.double() - b.double()).abs().max() / (b.double().abs().max() or 1)) for a, b in held), default=0.0)
