"""A changed module held against its original: in float64, where it must be equal, and in its own type."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple

import torch
from torch import nn

from normlens.errors import NotEqual
from normlens.module.apply import perform
from normlens.module.branches import Trial, with_other_arguments, with_other_sizes
from normlens.module.compare import MOST_ROUNDING, NOISE, Rows, least_scale, pairs, relative, says_something, without_distance
from normlens.module.contract import Contract
from normlens.module.inputs import Inputs, drawn, twice, widened
from normlens.module.modes import lift, lifted, mode_of, quiet, state_kept, twin, without_cache
from normlens.module.norms import GroupRMSNorm
from normlens.module.resolve import Action
from normlens.report.report import Check

LIMIT = 1e-10  # in float64, relative to the scale of a row; the engine's own
SEED = 1  # of what is random in a module, a dropout that drops: the same for both


@dataclasses.dataclass(frozen=True)
class Expected:
    """What the original gives on one set of inputs."""

    what: str
    inputs: Inputs
    output: Any  # in its own type
    exact: Any  # in float64


def trials(inputs: Inputs, contract: Contract) -> List[Tuple[str, Inputs]]:
    sets = [("the example inputs", inputs), ("drawn inputs", drawn(inputs, 1)), ("other drawn inputs", drawn(inputs, 2))]
    larger = twice(drawn(inputs, 3))
    return [*sets, ("twice the batch", larger)] if contract.broken_by(larger.args, larger.kwargs) is None else sets


def run(module: nn.Module, inputs: Inputs, training: bool, **kept: Any) -> Any:
    """Without a trace: no gradients, the caller's random numbers and the module's mode and state as they were. kept: as for
    state_kept."""
    with torch.no_grad(), torch.random.fork_rng(), mode_of(module, training), without_cache(module), state_kept(module, **kept):
        torch.manual_seed(SEED)
        return inputs.call(module)


def run_exact(exact: nn.Module, inputs: Inputs, training: bool, **kept: Any) -> Any:
    return run_lifted(exact, inputs.map(lift), training, **kept)


def run_lifted(exact: nn.Module, inputs: Inputs, training: bool, **kept: Any) -> Any:
    with lifted():
        return run(exact, inputs, training, **kept)


def expectations(
    module: nn.Module, exact: nn.Module, inputs: Inputs, contract: Contract, training: bool = False
) -> List[Expected]:
    """Of the original, before it is changed. exact: its float64 copy. Inputs that it refuses are left out, except the
    example's own: whatever that raises is raised."""
    found: List[Expected] = []
    for what, given in trials(inputs, contract):
        try:
            output, truth = run(module, given, training), run_exact(exact, given, training)
        except Exception:
            if not found:
                raise
            continue
        found.append(Expected(what, given, output, truth))
    return found


@dataclasses.dataclass(frozen=True)
class OtherCall:
    """condition: what these inputs, or this mode, break. exact: what the original's float64 copy gives. attribute:
    that it leaves exact in, where this is no output; exact is None where a number changes, which no call shows."""

    condition: str
    inputs: Inputs
    training: bool
    exact: Any
    attribute: str = ""


def other_calls(
    exact: nn.Module, inputs: Inputs, trials: Sequence[Trial], widths: Iterable[int], training: bool = False
) -> List[OtherCall]:
    """Calls that the original takes and the example is not: where the code may do something else.

    exact: the original's float64 copy. trials: of the branch that was analysed. widths: of its norms.
    """
    inputs = inputs.map(torch.clone)  # as the contract has them: without gaps in memory
    own = {tensor.dtype for tensor in inputs.tensors()}
    calls = [*with_other_sizes(inputs, trials), *widened(inputs, set(widths)), *with_other_arguments(inputs, exact)]
    # Tensors of another type keep it: the code may decide by it.
    calls = [(text, given.map(lambda tensor: lift(tensor) if tensor.dtype in own else tensor)) for text, given in calls]
    modes = [("the module trains", inputs, False)] if training else []
    found = []
    for condition, given, mode in [*((text, given, training) for text, given in calls), *modes]:
        try:
            with quiet():
                truth = run_lifted(exact, given, mode)
            if relative(truth, truth) == 0:
                found.append(OtherCall(condition, given, mode, truth))
        except Exception:
            continue  # then it is no choice
    left: Dict[str, Any] = {}
    with contextlib.suppress(Exception), quiet():
        run_exact(exact, inputs, training, left=left)
    for name, value in left.items():
        told = f"{name}, which a call {'changes, decides nothing' if value is None else 'leaves in the module, is not read'}"
        found.append(OtherCall(told, inputs.map(lift), training, value, name))
    return found


def conditions(exact: nn.Module, others: Sequence[OtherCall]) -> List[str]:
    """Those that the change rests on. exact: the float64 copy, changed."""
    return list(dict.fromkeys(other.condition for other in others if other.exact is None or not _agrees(exact, other)))


def _agrees(exact: nn.Module, other: OtherCall) -> bool:
    left: Dict[str, Any] = {}
    try:
        with quiet():
            output = run_lifted(exact, other.inputs, other.training, left=left)
            return relative(left[other.attribute] if other.attribute else output, other.exact) <= LIMIT
    except Exception:
        return False


def _apart(exact: nn.Module, inputs: Inputs, training: bool, truth: Any) -> float:
    """How far the changed float64 copy is from the original's outputs, what rounding explains left out."""
    output = run_exact(exact, inputs, training)
    worst = relative(output, truth)
    if not LIMIT < worst < float("inf"):
        return worst
    with weights_moved(exact):
        return relative(output, truth, run_exact(exact, inputs, training))


@contextlib.contextmanager
def weights_moved(exact: nn.Module) -> Iterator[None]:
    """Each by up to half a unit in its last place."""
    before = [(parameter, parameter.detach().clone()) for parameter in exact.parameters() if parameter.is_floating_point()]
    generator = torch.Generator().manual_seed(SEED)
    try:
        with torch.no_grad():
            for parameter, numbers in before:
                steps = torch.rand(numbers.shape, generator=generator, dtype=torch.float64).to(numbers) - 0.5
                parameter.copy_(numbers * (1 + 2 * torch.finfo(numbers.dtype).eps * steps))
        yield
    finally:
        with torch.no_grad():
            for parameter, numbers in before:
                parameter.copy_(numbers)


def rounding(module: nn.Module) -> float:
    """What the types of its parameters may lose, relative to a scale."""
    return 64 * max((torch.finfo(one.dtype).eps for one in module.parameters() if one.is_floating_point()), default=0.0)


def check_exact(exact: nn.Module, expected: Sequence[Expected], training: bool = False) -> List[Check]:
    """exact: the float64 copy, changed."""
    return [Check(one.what, "float64", _apart(exact, one.inputs, training, one.exact), LIMIT) for one in expected]


def check_own(module: nn.Module, expected: Sequence[Expected], training: bool = False) -> List[Check]:
    """module: the changed one, in the type that it is used in."""
    return [
        _worst([_own(a, b, c) for (a, b), (_, c) in _triples(run(module, one.inputs, training), one)], one.what)
        for one in expected
    ]


def _triples(output: Any, one: Expected) -> List[Any]:
    return list(zip(pairs(output, one.output), pairs(output, one.exact)))


def _own(output: Any, original: Any, exact: Any) -> Tuple[float, float, str]:
    """(difference, limit, type), of the elements that differ: four times the spacing of the type at their scale is always
    allowed, and six times what the original loses there by its type."""
    known = without_distance(output, original)
    if known is not None:
        return known, 0.0, ""
    dtype = str(original.dtype).removeprefix("torch.")
    if original.dtype == torch.float64:
        return relative(output, original), LIMIT, dtype
    rows = Rows(output, original)
    scale = max(float(rows.scale.max()), least_scale([original]))
    spacing = torch.finfo(original.dtype).eps * scale
    alike = isinstance(exact, torch.Tensor) and exact.shape == original.shape
    noise = float(rows.between(original, exact).max()) if alike else float("inf")
    limit = NOISE * noise + 4 * spacing if noise <= MOST_ROUNDING * scale else 64 * spacing
    return float(rows.apart.max()), limit, dtype


def _worst(rows: Sequence[Tuple[float, float, str]], what: str) -> Check:
    gap, limit, dtype = max(rows, key=lambda row: (row[0] > row[1], bool(row[2]), row[0] / row[1] if row[1] else row[0]))
    return Check(what, dtype, gap, limit)


def not_run(exact: nn.Module, expected: Expected, paths: Iterable[str], training: bool) -> Tuple[List[str], List[str]]:
    """Those of the new norms that do not run, because whoever calls them holds another object, in a list of its own; and those
    whose input has a mean."""
    left, with_mean = set(paths), set()

    def seen(path: str) -> Any:
        def look(norm: Any, args: Any, output: Any) -> None:
            left.discard(path)
            x = args[0].movedim(1, -1) if getattr(norm, "channels_first", False) else args[0]
            x = norm.rows(x) if isinstance(norm, GroupRMSNorm) else x
            axes = tuple(range(-len(norm.normalized_shape), 0))
            if bool(x.mean(axes).abs().max() > 1e-9 * x.abs().max()):
                with_mean.add(path)

        return look

    handles = [exact.get_submodule(path).register_forward_hook(seen(path)) for path in sorted(left)]
    try:
        run_exact(exact, expected.inputs, training)
    except Exception as error:  # the code may want what a LayerNorm has and an RMSNorm has not
        raise NotEqual(f"the changed module cannot be run: {error}; the change was undone") from error
    for handle in handles:
        handle.remove()
    return sorted(left), sorted(with_mean)


def checked(
    changed: nn.Module,
    exact: nn.Module,
    actions: Sequence[Action],
    expected: Sequence[Expected],
    replaced: Iterable[str],
    training: bool = False,
) -> Tuple[Check, ...]:
    """Performs the actions on the float64 copy too, and compares both. changed: where they have been performed.
    replaced: paths of the new norms.

    Raises NotEqual where a comparison fails, where no output of the example is finite, or where a new norm does not run.
    """
    if not says_something(expected[0].exact):
        raise NotEqual("no number of the outputs on the example inputs is finite: nothing can be compared")
    perform(actions, exact)
    idle, with_mean = not_run(exact, expected[0], replaced, training)
    if idle:
        raise NotEqual(f"{idle[0]} was replaced, but the model calls an object that it holds elsewhere; the change was undone")
    checks = check_exact(exact, expected, training) + check_own(changed, expected, training)
    failed = [check for check in checks if not check.passed]
    if failed:
        worst = failed[0]
        raise NotEqual(
            f"the changed module differs from the original on {worst.what} by {worst.difference:.1e} in {worst.dtype}, "
            f"{worst.limit:.1e} is the most; the change was undone",
            tuple(checks),
            tuple(with_mean),
        )
    return tuple(checks)
