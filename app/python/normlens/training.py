"""normlens.cbwc and normlens.uncbwc: training behind centered weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Tuple

from normlens.analyzing import name_of, opened, report_of, widths_of
from normlens.engine.client import Progress
from normlens.engine.program import Path, find_engine
from normlens.errors import NotEqual
from normlens.folding import best_of, looked_at, settled, states_of
from normlens.report.report import ChangeReport, Check

if TYPE_CHECKING:
    from torch import nn

    from normlens.module.apply import Followed
    from normlens.module.branches import Branch
    from normlens.module.contract import Contract
    from normlens.module.inputs import Inputs


def cbwc(
    module: "nn.Module", example_inputs: Any, *, engine: Optional[Path] = None, progress: Optional[Progress] = None
) -> Tuple["nn.Module", ChangeReport]:
    """Gives a module the papers' training form, in place: RMSNorm for LayerNorm, behind weights that stay centered.

    Weights that make the norms' inputs are parametrised (torch.nn.utils.parametrize) as W = V - mean(V), V being the
    parameter that was there, so that an optimizer made before goes on and a training step is the step that LayerNorm's
    network would take. γ and β stay parameters of the norm. A tied parameter stays tied: one reader reads it centered,
    the other raw. Norms that only fold because of the numbers that the module has now, or whose input a dropout that
    drops, another scale or a centering at run time stands before, stay LayerNorms; report.kept says why.

    example_inputs: as for normlens.analyze; the module is looked at in training mode. Returns (module, report).
    Raises what normlens.analyze does, and NotEqual where outputs or gradients are not LayerNorm's in float64; the module
    is then as it was.
    """
    from normlens.module.inputs import as_inputs
    from normlens.module.unsettled import unsettled

    program, inputs, source = find_engine(engine), as_inputs(example_inputs), name_of(module)
    with opened(unsettled(module), inputs, program, progress, training=True) as (session, analysis, branch):
        graph, seen = looked_at(session, analysis, module, inputs)
        plan, followed = best_of(session, analysis, graph, module, seen, ("free",), trained=True)
        checks: Tuple[Check, ...] = ()
        contract, holds = branch.contract, []
        if followed.folded:
            checks, (contract, holds) = _changed(module, followed, inputs, branch, widths_of(analysis))
        more = {
            "norms": states_of(session, analysis, plan, followed),
            "changes": tuple(text.replace("center ", "parametrise ", 1) for text in followed.changes) if followed.folded else (),
            "checks": checks,
            "contract": contract.text(),
            "conditions": tuple(holds),
            "inputs": inputs.text(),
        }
        return module, report_of(session, source, analysis, plan, ChangeReport, **more)


def uncbwc(module: "nn.Module", example_inputs: Any = None) -> "nn.Module":
    """Bakes what cbwc parametrised, in place: plain parameters with the centered numbers, and a plain state dict.

    The norms stay RMSNorms. Each centered weight becomes a parameter of its own, so that whatever else refers to the raw one
    (a tied embedding, an optimizer) keeps its numbers. Returns the module.

    example_inputs: as for normlens.analyze. Where they are given, the outputs before and after are compared, and NotEqual is
    raised where they differ by more than rounding; the module is then as it was.
    """
    from normlens.module.centered import bake
    from normlens.module.changes import Changes
    from normlens.module.compare import relative
    from normlens.module.inputs import as_inputs
    from normlens.module.resolve import say_untied
    from normlens.module.verify import rounding, run

    changes = Changes(module)
    inputs = None if example_inputs is None else as_inputs(example_inputs)
    before = run(module, inputs, module.training) if inputs is not None else None
    try:
        if bake(module, changes):
            say_untied(changes)
        gap = relative(run(module, inputs, module.training), before) if inputs is not None else 0.0
        if gap > rounding(module):
            raise NotEqual(f"the module with plain weights differs from the module before by {gap:.1e}; the change was undone")
    except BaseException:
        changes.undo()
        raise
    return module


def _changed(
    module: "nn.Module", followed: "Followed", inputs: "Inputs", branch: "Branch", widths: Iterable[int]
) -> Tuple[Tuple[Check, ...], Tuple["Contract", List[str]]]:
    """Performs the actions on the module; outputs in training mode and gradients are those of before, or it is undone.

    branch: of its code, that was looked at. widths: of its norms. Returns the checks that passed, and what it rests on.
    """
    from normlens.module.apply import perform
    from normlens.module.gradients import check_gradients, gradients
    from normlens.module.modes import twin
    from normlens.module.verify import checked, expectations, other_calls

    exact = twin(module)
    parameters = list(exact.parameters())
    expected = expectations(module, exact, inputs, branch.contract, training=True)
    others = other_calls(exact, inputs, branch.trials, widths, training=True)
    before = [gradients(exact, one.inputs, parameters) for one in expected]
    changes, _ = perform(followed.actions, module)
    try:
        checks: List[Check] = list(checked(module, exact, followed.actions, expected, followed.paths, training=True))
        for one, grads in zip(expected, before):
            checks.append(check_gradients(grads, gradients(exact, one.inputs, parameters), one.what))
            if not checks[-1].passed:
                gap = checks[-1].difference
                raise NotEqual(f"gradients on {one.what} are not LayerNorm's, by {gap:.1e}; the change was undone", tuple(checks))
    except BaseException:
        changes.undo()
        raise
    return tuple(checks), settled(branch, exact, others, changes.names)
