"""normlens.cbwc and normlens.uncbwc: training behind centered weights."""

from __future__ import annotations

import contextlib
import sys
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
    from normlens.module.practical import Practical


def cbwc(
    module: "nn.Module",
    example_inputs: Any,
    *,
    exact: bool = True,
    engine: Optional[Path] = None,
    progress: Optional[Progress] = None,
) -> Tuple["nn.Module", ChangeReport]:
    """Gives a module the papers' training form, in place: RMSNorm for LayerNorm, behind weights that stay centered.

    Weights that make the norms' inputs are parametrised (torch.nn.utils.parametrize) as W = V - mean(V), V being the
    parameter that was there, so that an optimizer made before goes on and a training step is the step that LayerNorm's
    network would take. γ and β stay parameters of the norm. A tied parameter stays tied: one reader reads it centered,
    the other raw. Norms that only fold because of the numbers that the module has now, or whose input a dropout that
    drops, another scale or a centering at run time stands before, stay LayerNorms; report.kept says why.

    exact: False is the papers' practical form (001, 5.3), which trains otherwise than LayerNorm's network. A dropout counts as the
        identity, so that norms behind it are exact once the module evaluates; every other norm that is a module becomes an
        RMSNorm too, behind the linears and tables that feed it and nothing else, centered. report.deviations has by how much
        outputs and gradients differ on the example, and report[norm].because the mean that is left at its input.

    example_inputs: as for normlens.analyze; the module is looked at in training mode. Returns (module, report).
    Raises what normlens.analyze does, and NotEqual where outputs or gradients are not LayerNorm's in float64 (of exact=False
    before the other norms are replaced, without dropout); the module is then as it was.
    """
    from normlens.module.inputs import as_inputs
    from normlens.module.modes import WithoutVainDropout
    from normlens.module.practical import Practical
    from normlens.module.unsettled import unsettled

    _refuse_sharded(module, "call cbwc before fully_shard")
    program, inputs, source = find_engine(engine), as_inputs(example_inputs), name_of(module)
    with contextlib.ExitStack() as stack:
        dropouts = None if exact else stack.enter_context(WithoutVainDropout(every=True))
        opening = opened(unsettled(module), inputs, program, progress, training=True)
        session, analysis, branch = stack.enter_context(opening)
        graph, seen = looked_at(session, analysis, module, inputs)
        plan, followed = best_of(session, analysis, graph, module, seen, ({"policy": "free"},), trained=True)
        norms = states_of(session, analysis, plan, followed)
        practical = None if dropouts is None else Practical(session, norms, graph, module, seen, inputs, dropouts)
        checks: Tuple[Check, ...] = ()
        contract, holds = branch.contract, []
        if followed.folded or (practical is not None and practical.paths):
            checks, (contract, holds) = _changed(module, followed, inputs, branch, widths_of(analysis), practical)
        done = followed.changes if followed.folded else []
        more = {
            "norms": norms if practical is None else practical.judged(norms),
            "changes": tuple(text.replace("center ", "parametrise ", 1) for text in [*done, *(practical.told if practical else [])]),
            "deviations": tuple(practical.deviations) if practical else (),
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

    _refuse_sharded(module, "gather its state dict (full_state_dict=True) and load it into the module before fully_shard")
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


def _refuse_sharded(module: Any, advice: str) -> None:
    """A weight's mean is that of its whole, and fully_shard puts a class between that of the parametrised module and its own."""
    fsdp = sys.modules.get("torch.distributed.fsdp")
    kind = getattr(fsdp, "FSDPModule", ())
    if hasattr(module, "modules") and any(isinstance(part, kind) for part in module.modules()):
        raise ValueError(f"the parameters of {name_of(module)} are sharded over processes; {advice}")


def _changed(
    module: "nn.Module",
    followed: "Followed",
    inputs: "Inputs",
    branch: "Branch",
    widths: Iterable[int],
    practical: "Optional[Practical]" = None,
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
    if practical is not None:
        practical.compare(exact, parameters)
    changes, _ = perform(followed.actions, module)
    try:
        checks: List[Check] = list(checked(module, exact, followed.actions, expected, followed.paths, training=True))
        for one, grads in zip(expected, before):
            checks.append(check_gradients(grads, gradients(exact, one.inputs, parameters), one.what))
            if not checks[-1].passed:
                gap = checks[-1].difference
                raise NotEqual(f"gradients on {one.what} are not LayerNorm's, by {gap:.1e}; the change was undone", tuple(checks))
        rests = settled(branch, exact, others, changes.names)
        if practical is not None:
            practical.replace(changes, exact, parameters, followed.paths)
    except BaseException:
        changes.undo()
        raise
    return tuple(checks), rests
