"""normlens.fold"""

from __future__ import annotations

import copy
import dataclasses
import functools
import os
import pathlib
from typing import TYPE_CHECKING, Any, Callable, Collection, Dict, List, Optional, Sequence, Tuple

from normlens.analyzing import ModuleOrPath, is_path, name_of, opened, report_of, widths_of
from normlens.engine.client import Progress
from normlens.engine.program import Path
from normlens.engine.session import Json, Session, changes_anything
from normlens.errors import EngineError, NotEqual
from normlens.report.report import ChangeReport, Check, Norm, norms_of

if TYPE_CHECKING:
    from torch import nn

    from normlens.module.apply import Followed
    from normlens.module.branches import Branch
    from normlens.module.contract import Contract
    from normlens.module.inputs import Inputs
    from normlens.module.observe import Observed
    from normlens.module.owners import Graph
    from normlens.module.verify import OtherCall


def fold(
    module_or_path: ModuleOrPath,
    example_inputs: Any = None,
    *,
    policy: str = "balanced",
    max_growth: float = 10,
    gamma: str = "keep",
    norm: str = "portable",
    inplace: bool = False,
    guard: Optional[str] = "warn",
    output: Optional[Path] = None,
    time_limit: float = 0,
    engine: Optional[Path] = None,
    progress: Optional[Progress] = None,
) -> Tuple[Any, ChangeReport]:
    """Replaces LayerNorms by RMSNorms without changing what is computed, and verifies it.

    Of an nn.Module: (module, report). The engine plans, the plan is applied to a deep copy, or with inplace=True to the
        module itself: weights are centered, nn.LayerNorm, or a module of any class that computes one, becomes nn.RMSNorm, its β
        moves into the biases of the linears behind it or stays as a bias of the norm (normlens.module.norms.AffineRMSNorm).
        Norms of which an edit has no counterpart in the module stay, and report.kept says why. A tied parameter of which one
        reader must be centered becomes two; report.untied names it. The result equals the original in evaluation mode (a dropout that drops gives
        a mean back), for calls like the example's: report.contract is that call, report.conditions what was tried beyond it.
        Three copies of the parameters are needed on the way, two of them in float64, and twice their size on the disk.
    Of a file: (path, report), folded by the engine and written to `output`, which is required then; path is None where
        nothing folds.

    gamma: "fold" also moves the weight (γ) of each RMSNorm, old and new, into the linear layers behind it, where nothing else reads
        the norm and each of their weights is read once; of a module the norm keeps a weight of ones.
    guard: of a module, a check of that contract which costs some microseconds a call: it names the first argument outside it, in
        a warning ("warn"), or raises OutsideContract at each such call ("raise"). None attaches none; normlens.unguard(module)
        removes it. torch.compile and torch.export leave it out.
    example_inputs, policy, max_growth, time_limit, engine, progress: as for normlens.analyze. norm: of a file "portable",
    "primitives", "fast", "standard" or "ort"; of a module "portable" alone.

    Raises what normlens.analyze does, and NotEqual where the result is not the original's on the example inputs and on
    drawn ones, in float64 (1e-10 of the largest value) or in the module's own type (six times its rounding): the module
    is then as it was. ValueError for options that do not go together.
    """
    if guard not in ("warn", "raise", None):
        raise ValueError(f"guard is 'warn', 'raise' or None, not {guard!r}")
    asking = {"engine": engine, "progress": progress, "time_limit": time_limit}
    wanted = {"policy": policy, "max_growth_percent": max_growth, "gamma": gamma}
    if is_path(module_or_path):
        if output is None or inplace:
            raise ValueError("a file is folded to another file: name it with output, and leave inplace out")
        return _fold_file(module_or_path, example_inputs, wanted, norm, output, asking)
    if output is not None or norm != "portable":
        raise ValueError("output and other norms are for files; a module gets torch.nn.RMSNorm and is returned")
    return _fold_module(module_or_path, example_inputs, wanted, inplace, guard, asking)


def _fold_file(
    path: Any, arrays: Any, wanted: Json, norm: str, output: Path, asking: Json
) -> Tuple[Optional[pathlib.Path], ChangeReport]:
    source = name_of(path)
    with opened(path, arrays, **asking) as (session, analysis, _):
        result = session.fold(wanted, norm)
        plan = result["plan"]
        written: Optional[pathlib.Path] = None
        checks = _checks_of(result)
        if changes_anything(plan):
            if not result["ok"]:
                raise NotEqual(f"{source} was not folded: {result['reason']}", checks)
            written = pathlib.Path(session.export(os.fspath(output), norm)["path"])
        more = {
            "changes": tuple(edit["text"] for edit in plan["edits"]),
            "checks": checks,
            "output": written,
        }
        return written, report_of(session, source, analysis, plan, ChangeReport, **more)


def _checks_of(result: Json) -> Tuple[Check, ...]:
    proof = result["verify"]
    if proof is None:
        return ()
    rows = []
    if proof["algebra_done"]:
        rows.append(Check("the engine's inputs", "float64", proof["algebra"]["max_rel"], proof["algebra"]["limit"]))
    if proof["file_done"]:
        rows.append(Check("the engine's inputs", proof["file_dtype"], proof["file"]["max_rel"], proof["file"]["limit"]))
    return tuple(rows)


def _fold_module(
    module: "nn.Module", example: Any, wanted: Json, inplace: bool, guard: Any, asking: Json
) -> Tuple["nn.Module", ChangeReport]:
    from normlens.module.guard import attach
    from normlens.module.inputs import as_inputs

    made = (lambda: module) if inplace else functools.partial(copy.deepcopy, module)
    folded, done, contract, report = folded_into(made, module, as_inputs(example), wanted, asking)
    if guard is not None and done.exact is not None:
        attach(folded, contract, guard)
    return folded, report


def folded_into(
    made: Callable[[], "nn.Module"], module: "nn.Module", inputs: "Inputs", wanted: Json, asking: Json
) -> Tuple["nn.Module", "Done", "Contract", ChangeReport]:
    """(target, what was done to it, the contract that is left, the report). made: returns the target, the module or a copy of
    it, and is called after the module's first run, which may change it. wanted: PlanParams. asking: keywords of `opened`."""
    source = name_of(module)
    with opened(module, inputs, **asking) as (session, analysis, branch):
        target = made()
        done = carried_out(session, analysis, branch, module, target, inputs, wanted)
        settles = done.exact is not None
        contract, holds = settled(branch, done.exact, done.others, done.changed) if settles else (branch.contract, [])
        holds = [*holds, *(f"{name} is centered, and no state_dict holds it: save the module itself" for name in unsaved(done))]
        more = {
            "norms": done.norms,
            "changes": done.changes,
            "untied": done.untied,
            "checks": done.checks,
            "weights_moved": done.plan["gains_absorbed"] if settles else 0,
            "inputs": inputs.text(),
            "contract": contract.text(),
            "conditions": tuple(holds),
        }
        return target, done, contract, report_of(session, source, analysis, done.plan, ChangeReport, **more)


@dataclasses.dataclass
class Done:
    """A plan as it was carried out on a module. exact: the float64 copy, changed too; None where nothing folds. others: calls
    beyond the example, and what the original makes of them. changed: names of parameters and modules."""

    plan: Json
    norms: Tuple[Norm, ...]
    exact: Optional["nn.Module"] = None
    others: Sequence["OtherCall"] = ()
    changed: Collection[str] = ()
    changes: Tuple[str, ...] = ()
    untied: Tuple[str, ...] = ()
    checks: Tuple[Check, ...] = ()


def unsaved(done: Done) -> Tuple[str, ...]:
    """Centered buffers that a class computes when it is made (persistent=False): a state_dict is of the original's."""
    if done.exact is None:
        return ()
    held = done.exact.state_dict().keys()
    return tuple(name for name, _ in done.exact.named_buffers() if name in done.changed and name not in held)


def carried_out(
    session: Session,
    analysis: Json,
    branch: "Branch",
    module: "nn.Module",
    target: "nn.Module",
    inputs: "Inputs",
    wanted: Json,
    foretells: bool = False,
) -> Done:
    """Changes target as the plan of these PlanParams requires, and verifies it; of norms and policies for which it is not equal it is
    undone, and tried without them. target: the module, or a copy of it. Where nothing else is left to try NotEqual is raised.
    foretells: it is the reason of the norms then, and calls beyond the example are not tried."""
    from normlens.module.modes import twin
    from normlens.module.verify import expectations, other_calls

    graph, seen = looked_at(session, analysis, module, inputs)
    expected, others = [], []
    while True:
        plan, followed = best_of(session, analysis, graph, module, seen, (wanted, {**wanted, "policy": "free"}))
        if not followed.actions:
            return Done(plan, states_of(session, analysis, plan, followed))
        try:
            exact = twin(module)
            if not expected:
                expected = expectations(module, exact, inputs, branch.contract)
                others = [] if foretells else other_calls(exact, inputs, branch.trials, widths_of(analysis))
            checks, untied, changed = change(target, exact, followed, expected)
            norms = states_of(session, analysis, plan, followed)
            return Done(plan, norms, exact, others, changed, tuple(followed.changes), tuple(untied), checks)
        except NotEqual as refused:
            if not refused.norms and plan["policy"] == "free" and not foretells:
                raise
            undone = f"the fold by policy {plan['policy']} was undone: {refused}"
            seen.undone.update(dict.fromkeys(refused.norms, f"its input has a mean when it runs, and {undone}"))
            seen.undone.update({} if refused.norms else {plan["policy"]: undone})


def settled(
    branch: "Branch", exact: "nn.Module", others: Sequence["OtherCall"], changed: Collection[str]
) -> Tuple["Contract", List[str]]:
    """The contract that is left, and the conditions beyond it. exact: the float64 copy, changed. others: beyond the example."""
    from normlens.module.methods import others_calling
    from normlens.module.verify import conditions

    contract, broken = branch.contract.settled({other.condition for other in others}, conditions(exact, others))
    methods = others_calling(exact, changed)
    return contract, broken + beyond(branch) + ([f"nothing but forward calls {_listed(methods)}"] if methods else [])


def beyond(branch: "Branch") -> List[str]:
    """Conditions that no trial decides: values of plain arguments, guards that were not tried, and what is not used, because
    another branch of the code that uses it may feed the same norms."""
    told = [*branch.contract.values(), *branch.untried]
    verb = "is" if len(branch.unused) == 1 else "are"
    return [*told, f"{_listed(branch.unused)} {verb} not used"] if branch.unused else told


def _listed(names: Sequence[str], most: int = 4) -> str:
    shown = [*names] if len(names) <= most else [*names[:most], f"{len(names) - most} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def looked_at(session: Session, analysis: Json, module: "nn.Module", inputs: "Inputs") -> Tuple["Graph", "Observed"]:
    """Its graph, and what a run in evaluation mode shows of it."""
    from normlens.module.modes import mode_of, without_cache
    from normlens.module.observe import observe
    from normlens.module.owners import Graph

    graph = Graph(session.graph, module)
    paths = {graph.one(graph.scope(norm["node"])) for norm in analysis["norms"] if norm["node"] in graph.nodes}
    with mode_of(module, False), without_cache(module):
        return graph, observe(module, inputs, paths)


def best_of(
    session: Session,
    analysis: Json,
    graph: "Graph",
    module: "nn.Module",
    seen: "Observed",
    wanted: Sequence[Json],
    trained: bool = False,
) -> Tuple[Json, "Followed"]:
    """The plan of the first of these PlanParams of which the module can follow most: policy "free" needs no centering at run
    time, of which a module has few places. Each norm that it keeps has a reason, that of the first of these plans."""
    found = []
    for params in wanted:
        plan = session.plan(**params)
        found.append((plan, followed_of(session, analysis, plan, graph, module, seen, params, trained)))
        if not found[-1][1].kept or params["policy"] == "free":
            break
    plan, followed = max(found, key=lambda pair: len(pair[1].folded))
    asked, first = found[0]
    rests = f"policy {asked['policy']} folds it, but fewer norms than policy {plan['policy']}"
    for norm in norms_of(analysis, asked, session.graph):
        if norm.index not in followed.folded:
            reason = first.kept.get(norm.index) or (norm.because if norm.verdict != "blocked" else "") or norm.reason
            followed.kept[norm.index] = rests if norm.index in first.folded else reason
    return plan, followed


def unguard(module: "nn.Module") -> "nn.Module":
    """Removes the checks that fold attached to the module and its submodules, and returns the module."""
    from normlens.module.guard import remove

    for part in module.modules():
        remove(part)
    return module


def followed_of(
    session: Session,
    analysis: Json,
    plan: Json,
    graph: "Graph",
    module: "nn.Module",
    seen: "Observed",
    params: Json,
    trained: bool = False,
) -> "Followed":
    """What the module can follow of this plan. params: PlanParams, of the request for the plan."""
    from normlens.module.apply import Followed, follow
    from normlens.module.edits import joined

    if not changes_anything(plan):
        return Followed(set(), {}, [], [], [])
    if plan["policy"] in seen.undone:
        return Followed(set(), dict.fromkeys(plan["folded"], seen.undone[plan["policy"]]), [], [], [])
    try:
        exact = session.exact_edits(params)
    except EngineError as reason:
        return Followed(set(), dict.fromkeys(plan["folded"], str(reason)), [], [], [])
    return follow(joined(exact, plan["edits"]), norms_of(analysis, plan, session.graph), graph, module, seen, trained)


def change(
    target: "nn.Module", exact: "nn.Module", followed: "Followed", expected: Sequence[Any]
) -> Tuple[Tuple[Check, ...], List[str], Collection[str]]:
    """Performs the actions on target, and verifies; whatever goes wrong, target is left as it was. Returns the checks, what was
    untied, and what was changed."""
    from normlens.module.apply import perform
    from normlens.module.verify import checked

    changes, told = perform(followed.actions, target)
    try:
        return checked(target, exact, followed.actions, expected, followed.paths), told, changes.names
    except BaseException:
        changes.undo()
        raise


def states_of(session: Session, analysis: Json, plan: Json, followed: "Followed") -> Tuple[Norm, ...]:
    """The norms as best_of found them: each folded, or kept with the reason."""
    found = []
    for norm in norms_of(analysis, plan, session.graph):
        folds = norm.index in followed.folded
        state = norm.state if folds and norm.folds else "folded" if folds else "kept"
        found.append(dataclasses.replace(norm, state=state, because=norm.because if folds else followed.kept[norm.index]))
    return tuple(found)
