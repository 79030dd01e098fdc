"""Which branch of a module's code an export holds for, and calls that may take another one.

An export runs the code once. Every branch that a size decided is a guard of torch.export's shape environment: for each, the
nearest size is found with which the code decides otherwise. Thread: any; nothing is run here.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

import sympy
import torch
from torch import nn
from torch.utils._sympy.printers import PythonPrinter

from normlens.module.contract import AS_GIVEN, Contract, Relation, TensorForm, form_of, parts_of
from normlens.module.inputs import Inputs, like

Axis = Tuple[int, int]  # (which of the inputs' tensors, which axis from its end)

# Limits for a tensor, and for an axis, made more than twice as large as the example's: attention grows with the square.
MOST_ELEMENTS = 1 << 20
LONGEST_AXIS = 1024
FACTORS = (4, 16, 64)
MOST_COMPARED = 6  # tensors each with each other; of more, each with the next


@dataclasses.dataclass(frozen=True)
class Trial:
    """Sizes of the inputs with which the code may take another branch. condition: what they break, in words.
    guard: whether torch.export recorded that the code decides by them."""

    condition: str
    sizes: Mapping[Axis, int]
    guard: bool = False


@dataclasses.dataclass(frozen=True)
class Branch:
    """unused: parameters that the branch does not read, or modules where that is all of theirs. contract: the call that was
    exported. untried: conditions of guards that no trial breaks."""

    trials: Tuple[Trial, ...]
    unused: Tuple[str, ...]
    contract: Contract
    untried: Tuple[str, ...]


def branch_of(program: Any, module: nn.Module, inputs: Inputs) -> Branch:
    """program: torch.export's, of this module with these inputs."""
    sizes = _Sizes(program, inputs)
    trials = tuple(sizes.trials())
    untried = [trial.condition for trial in trials if trial.guard and _too_large(inputs, trial.sizes)]
    named = dict.fromkeys([*untried, *sizes.unbroken])
    untried = [f"{condition} (a guard of the code that was not tried)" for condition in named]
    return Branch(trials, tuple(_unused(program, module)), _contract_of(module, inputs, sizes), tuple(untried))


class _Default:
    """Represents a parameter's default in the signature of a contract."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"defaults[{self.name!r}]"


def _contract_of(module: nn.Module, inputs: Inputs, sizes: "_Sizes") -> Contract:
    signature, bound = _bound(module, inputs)
    given = tuple(inputs.by_parameter(module))
    open_sizes: Dict[int, Dict[int, Any]] = {}
    for (place, axis), size in sizes.sizes:
        open_sizes.setdefault(id(sizes.tensors[place]), {})[axis] = None if not isinstance(size, int) else size
    known = {key: tuple(of[axis] for axis in range(-len(of), 0)) for key, of in open_sizes.items()}
    parts = _parts(bound)
    forms = {name: form_of(part, known) for name, part in parts.items()}
    defaults = {one.name: one.default for one in signature.parameters.values() if one.default is not one.empty}
    plain = [
        one.replace(annotation=one.empty, default=_Default(one.name) if one.name in defaults else one.empty)
        for one in signature.parameters.values()
    ]
    alike = [Relation(_as_alike(parts, names), _told_alike(parts, names)) for names in _comparable(forms)]
    words = str(inspect.Signature(plain))[1:-1]
    return Contract(words, defaults, given, forms, (*sizes.relations(), *alike))


def _bound(module: nn.Module, inputs: Inputs) -> Tuple[inspect.Signature, inspect.BoundArguments]:
    """The arguments of a call, defaults with them."""
    signature = inspect.signature(module.forward)
    bound = signature.bind(*inputs.args, **inputs.kwargs)
    bound.apply_defaults()
    return signature, bound


def _parts(bound: inspect.BoundArguments) -> Dict[str, Any]:
    return {name: part for whole in bound.arguments.items() for name, part in parts_of(*whole)}


def _comparable(forms: Mapping[str, Any]) -> List[List[str]]:
    """Names of the tensors that a caller may give one tensor for: of one type and number of axes."""
    groups: Dict[Any, List[str]] = {}
    for name, form in forms.items():
        if isinstance(form, TensorForm):
            groups.setdefault((form.dtype, len(form.sizes)), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _pairs(names: Sequence[str]) -> List[Tuple[str, str]]:
    return list(itertools.combinations(names, 2) if len(names) <= MOST_COMPARED else zip(names, names[1:]))


def _as_alike(parts: Mapping[str, Any], names: Sequence[str]) -> str:
    return " and ".join(f"{one} is {'' if parts[one] is parts[other] else 'not '}{other}" for one, other in _pairs(names))


def _told_alike(parts: Mapping[str, Any], names: Sequence[str]) -> str:
    several = len({id(parts[name]) for name in names}) == len(names)
    return f"{', '.join(names)} are {'different tensors' if several else 'the same tensors as in the example'}"


def with_other_sizes(inputs: Inputs, trials: Sequence[Trial]) -> List[Tuple[str, Inputs]]:
    """(condition, inputs that break it): cut off, or with the first elements again."""
    return [(trial.condition, _resized(inputs, trial.sizes)) for trial in trials if not _too_large(inputs, trial.sizes)]


def with_other_arguments(inputs: Inputs, module: nn.Module) -> List[Tuple[str, Inputs]]:
    """(the condition of an argument, the inputs with another one): other types, layouts, numbers of axes and lengths, switches
    turned, what is optional left out, one tensor for two. Numbers and texts have too many values: the contract names those."""
    signature, bound = _bound(module, inputs)
    parts = _parts(bound)
    found = []

    def put(condition: str, others: Mapping[str, Any]) -> None:
        """others: by name, of arguments or of their parts."""
        before = dict(bound.arguments)
        bound.arguments.update({name: _put(value, name, others) for name, value in before.items()})
        reached = _parts(bound)
        if all(reached.get(name) is other for name, other in others.items()):
            found.append((condition, Inputs(bound.args, dict(bound.kwargs))))
        bound.arguments.update(before)

    for name, value in bound.arguments.items():
        values = list(_others(name, value))
        if signature.parameters[name].default is None:
            values += [(_as_it_stands(name, value), True if value is None else None)]
        alike = [part for part in parts if part == name or isinstance(value, torch.Tensor) and parts[part] is value]
        for condition, other in values:
            put(condition, dict.fromkeys(alike, other))
    switches = {name: not value for name, value in bound.arguments.items() if isinstance(value, bool)}
    if len(switches) > 1:
        put(f"{', '.join(switches)} are as in the example", switches)
    for names in _comparable({name: form_of(part) for name, part in parts.items()}):
        for others in _otherwise_alike(parts, names):
            put(_told_alike(parts, names), others)
    turned = {id(value): _turned(value) for value in parts.values() if isinstance(value, torch.Tensor)}
    put(AS_GIVEN, {name: turned[id(value)] for name, value in parts.items() if id(value) in turned})
    return found


def _otherwise_alike(parts: Mapping[str, Any], names: Sequence[str]) -> Iterator[Dict[str, torch.Tensor]]:
    """By name: tensors of the example as one tensor where they are several, and the other way round."""
    pairs = _pairs(names)
    for one, other in pairs:
        yield {other: like(parts[other], parts[other].clone()) if parts[one] is parts[other] else parts[one]}
    if len(pairs) > 1:
        several = len({id(parts[name]) for name in names}) == len(names)
        yield {name: parts[names[0]] if several else like(parts[name], parts[name].clone()) for name in names}


def _put(value: Any, name: str, others: Mapping[str, Any]) -> Any:
    """The value of that name with other parts in it."""
    if name in others:
        return others[name]
    if isinstance(value, dict):
        changed = {key: _put(item, f"{name}[{key!r}]", others) for key, item in value.items()}
        return changed if type(value) is dict else value
    if type(value) in (list, tuple):
        return type(value)(_put(item, f"{name}[{place}]", others) for place, item in enumerate(value))
    return value


def _others(name: str, value: Any) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, bool):
        yield f"{name} is {value}", not value
    elif isinstance(value, torch.Tensor):
        yield from _other_tensors(name, value)
    elif type(value) in (list, tuple):
        if value:
            for other in (value[:-1], value + value[-1:]):
                yield f"{name} has length {len(value)}", other
        for place, item in enumerate(value):
            before, after = value[:place], value[place + 1 :]
            yield from ((text, type(value)([*before, other, *after])) for text, other in _others(f"{name}[{place}]", item))
    elif type(value) is dict:
        if len(value) > 1:
            yield f"{name} has its keys in this order", dict(reversed(list(value.items())))
        for key, item in value.items():
            yield f"{name} has the key {key!r}", {other: value[other] for other in value if other != key}
            yield from ((text, {**value, key: other}) for text, other in _others(f"{name}[{key!r}]", item))


def _other_tensors(name: str, value: torch.Tensor) -> Iterator[Tuple[str, torch.Tensor]]:
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.bool):
        if dtype != value.dtype and not value.is_complex():
            yield f"{name} is {str(value.dtype).removeprefix('torch.')}", like(value, value.to(dtype))
    aspects = form_of(value).aspects(name)
    yield from ((aspects[aspect], other) for aspect, other in _other_aspects(value) if aspect in aspects)
    if value.dim() > 1 and value.shape[0]:
        yield f"{name} has {value.dim()} axes", like(value, value[0])
        if value.shape[0] * value.numel() <= MOST_ELEMENTS:
            yield f"{name} has {value.dim()} axes", like(value, value.repeat(value.shape[0], *[1] * value.dim()))


def _other_aspects(value: torch.Tensor) -> Iterator[Tuple[str, torch.Tensor]]:
    """(field of TensorForm, the same numbers in a tensor that is another one in it)"""
    if value.is_floating_point():
        yield "requires_grad", _of_other_class(value, type(value), not value.requires_grad)
    yield "kinds", _of_other_class(value, nn.Parameter if type(value) is torch.Tensor else torch.Tensor, value.requires_grad)
    if value.layout is torch.strided and type(value) in (torch.Tensor, nn.Parameter):
        yield "layout", like(value, value.detach().to_sparse())
    yield from (("axes", _of_other_class(other, type(value), value.requires_grad)) for other in _otherwise_laid_out(value))


def _otherwise_laid_out(value: torch.Tensor) -> Iterator[torch.Tensor]:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    value = value.detach()
    others = [value.contiguous(), value.transpose(0, -1).contiguous().transpose(0, -1)] if value.dim() > 1 else []
    others += [value.contiguous(memory_format=formats[value.dim()])] if value.dim() in formats else []
    axes = form_of(value).axes
    yield from (other for other in others if form_of(other).axes != axes)


def _of_other_class(value: torch.Tensor, kind: Any, grad: bool) -> torch.Tensor:
    plain = value.detach()
    return nn.Parameter(plain, grad) if kind is nn.Parameter else plain.as_subclass(kind).requires_grad_(grad)


def _turned(value: torch.Tensor) -> torch.Tensor:
    """Another one in all of these."""
    other = next(_otherwise_laid_out(value), value)
    grad = value.is_floating_point() and not value.requires_grad
    return _of_other_class(other, nn.Parameter if type(value) is torch.Tensor else torch.Tensor, grad)


def _as_it_stands(name: str, value: Any) -> str:
    return f"{name} is {value}" if value is None or isinstance(value, (bool, int)) else f"{name} is given"


def _resized(inputs: Inputs, sizes: Mapping[Axis, int]) -> Inputs:
    tensors = inputs.tensors()
    changed = {}
    for (place, axis), size in sizes.items():
        key = id(tensors[place])
        old = changed.get(key, tensors[place])
        if old.shape[axis]:
            changed[key] = old.index_select(axis, torch.arange(size, device=old.device) % old.shape[axis])
        else:
            changed[key] = old.new_zeros([*old.shape[:axis], size, *(old.shape[axis:][1:])])
    return inputs.map(lambda tensor: changed.get(id(tensor), tensor))


def _too_large(inputs: Inputs, sizes: Mapping[Axis, int]) -> bool:
    for place, tensor in enumerate(inputs.tensors()):
        shape = [sizes.get((place, axis), tensor.shape[axis]) for axis in range(-tensor.dim(), 0)]
        if math.prod(shape) > max(2 * tensor.numel(), MOST_ELEMENTS):
            return True
        if any(size > max(2 * old, LONGEST_AXIS) for size, old in zip(shape, tensor.shape)):
            return True
    return False


def _settled(size: Any) -> Any:
    """A number where the code leaves no other one."""
    return int(size.node.expr) if not isinstance(size, int) and size.node.expr.is_Integer else size


class _Sizes:
    """The axes of a program's inputs: those that have one size, and symbols of the others."""

    def __init__(self, program: Any, inputs: Inputs) -> None:
        signature = [spec.arg for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
        names = [argument.name for argument in signature if type(argument).__name__ == "TensorArgument"]
        fakes = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.name in names}
        self.sizes: List[Tuple[Axis, Any]] = []  # numbers and symbols
        for place, name in enumerate(names):
            shape = fakes[name].shape
            self.sizes += [((place, axis), _settled(size)) for axis, size in zip(range(-len(shape), 0), shape)]
        self.ranges = program.range_constraints
        self.tensors = inputs.tensors()
        self.environment: Any = next((fake.fake_mode.shape_env for fake in fakes.values()), None)
        self.axes: Dict[Any, Axis] = {}  # by symbol
        self.unbroken: List[str] = []  # guards of which trials() found no size that breaks them
        self.hints: Dict[Any, int] = {}
        if self.environment is not None:
            self._find_symbols()

    def _find_symbols(self) -> None:
        values = getattr(self.environment, "backed_var_to_val", None)  # torch 2.11 and later
        values = self.environment.var_to_val if values is None else values
        places: Dict[Any, int] = {}  # of what a tensor comes from, in the order of the tensors that have symbols
        first = {id(tensor): place for place, tensor in reversed([*enumerate(self.tensors)])}
        with_symbols = [place for place in sorted(first.values()) if any(size > 1 for size in self.tensors[place].shape)]
        for symbol, sources in self.environment.var_to_sources.items():
            axis = getattr(sources[0], "idx", None)
            base = getattr(sources[0], "base", None)
            strides = getattr(getattr(sources[0], "prop", None), "name", "SIZE") != "SIZE"
            if axis is None or base is None or strides or symbol not in values:
                continue
            at = places.setdefault(base, len(places))
            place = with_symbols[at] if at < len(with_symbols) else -1
            shape = self.tensors[place].shape if place >= 0 else ()
            if axis >= len(shape) or shape[axis] != int(values[symbol]):
                self.axes.clear()  # not as it was when this was written: then no branch is known
                return
            self.hints[symbol] = int(values[symbol])
            self.axes[symbol] = (place, axis - len(shape))

    def trials(self) -> Iterator[Trial]:
        """Each sizes once."""
        seen = []
        for trial in itertools.chain(self._of_fixed(), self._of_symbols(), self._of_guards(), self._of_all()):
            if trial.sizes not in seen:
                seen.append(trial.sizes)
                yield trial

    def _of_fixed(self) -> Iterator[Trial]:
        for (place, axis), size in self.sizes:
            if isinstance(size, int):
                for other in sorted({0, 1, 2, size // 2, size - 1, size + 1, 2 * size} - {size, -1}):
                    yield Trial(f"input {place} has size {size} in axis {axis}", {(place, axis): other})

    def _of_all(self) -> Iterator[Trial]:
        """Branches behind a branch leave no guard."""
        open_axes = [axis for axis, size in self.sizes if not isinstance(size, int)]
        for factor in FACTORS if open_axes else ():
            sizes = {(place, axis): factor * self.tensors[place].shape[axis] for place, axis in open_axes}
            yield Trial("the code treats all sizes as it does those of the example", sizes)

    def _of_symbols(self) -> Iterator[Trial]:
        alike: Dict[Any, List[Axis]] = {}
        for axis, size in self.sizes:
            if not isinstance(size, int):
                alike.setdefault(size.node.expr, []).append(axis)
        for symbol, axes in alike.items():
            for other in (0, 1) if symbol in self.ranges else ():
                yield Trial(self._in_words(axes[0], symbol, other), dict.fromkeys(axes, other))

    def _of_guards(self) -> Iterator[Trial]:
        for guard in getattr(self.environment, "guards", ()):
            if any(symbol not in self.axes for symbol in guard.expr.free_symbols):
                self.unbroken.append(str(self._relation(guard.expr)))
                continue
            moved = self._violation(guard.expr, sorted(guard.expr.free_symbols, key=lambda symbol: self.axes[symbol]))
            if moved:
                first, other = next(iter(moved.items()))
                sizes = {self.axes[symbol]: size for symbol, size in moved.items()}
                yield Trial(self._in_words(self.axes[first], self._alike(first), other), sizes, True)
            elif not guard.expr.free_symbols <= self._fixed():
                self.unbroken.append(str(self._relation(guard.expr)))

    def relations(self) -> Iterator[Relation]:
        """What the code decided by sizes, but for a size that has one value, and the least sizes that torch.export assumes."""
        guards = [guard.expr for guard in getattr(self.environment, "guards", ())]
        fixed = self._fixed()
        yield from (self._relation(one) for one in guards if one.free_symbols - fixed and one.free_symbols <= self.axes.keys())
        for symbol, axis in self.axes.items():
            least = self.ranges.get(self._alike(symbol))
            if least is not None and symbol not in fixed:
                text = self._in_words(axis, self._alike(symbol), int(least.lower) - 1)
                yield self._relation(sympy.Ge(symbol, int(least.lower), evaluate=False), text)

    def _fixed(self) -> Set[Any]:
        """Symbols of sizes that have one value."""
        guards = [guard.expr for guard in getattr(self.environment, "guards", ())]
        pinned = [one.lhs for one in guards if isinstance(one, sympy.Eq) and one.lhs.is_Symbol and one.rhs.is_Integer]
        return set(pinned)

    def _relation(self, expression: Any, condition: str = "") -> Relation:
        names = {}
        for symbol in expression.free_symbols:
            source = (self.environment.var_to_sources.get(symbol) or [None])[0]
            name = getattr(source, "name", str(symbol))
            name = re.sub(r"^L\['(\w+)'\]", r"\1", name() if callable(name) else name)
            names[symbol] = sympy.Symbol(name, integer=True)
        return Relation(PythonPrinter().doprint(expression.xreplace(names)), condition)

    def _in_words(self, axis: Axis, symbol: Any, other: int) -> str:
        allowed = self.ranges.get(symbol)
        where = f"in axis {axis[1]}"
        if allowed is not None and other not in allowed:
            least = int(allowed.lower)
            if other < least or not allowed.upper.is_Integer:
                return f"input {axis[0]} has size {least} or more {where}"
            return f"input {axis[0]} has a size from {least} to {int(allowed.upper)} {where}"
        size = self.tensors[axis[0]].shape[axis[1]]
        return f"input {axis[0]} has a size {where} that the code treats as it does {size}, unlike {other}"

    def _alike(self, symbol: Any) -> Any:
        """Returns the symbol that represents all that have its size."""
        replacements = getattr(self.environment, "replacements", {})
        while symbol in replacements and replacements[symbol].is_Symbol:
            symbol = replacements[symbol]
        return symbol

    def _violation(self, expression: Any, symbols: Sequence[Any]) -> Optional[Dict[Any, int]]:
        """The nearest sizes with which the code decides otherwise: first all that are alike, then some of them."""
        near = {symbol: self._near(symbol, expression) for symbol in symbols}
        for moved in self._moves(near):
            values = {symbol: sympy.Integer(size) for symbol, size in {**self.hints, **moved}.items()}
            try:
                if expression.xreplace(values) == sympy.false:  # not subs(): one after the other
                    return moved
            except (ZeroDivisionError, AssertionError):
                continue  # the code cannot compute with this size either
        return None

    def _moves(self, near: Mapping[Any, Sequence[int]]) -> Iterator[Dict[Any, int]]:
        classes = {symbol: [other for other in self.axes if self._alike(other) == self._alike(symbol)] for symbol in near}
        for symbol, members in classes.items():
            yield from (dict.fromkeys(members, size) for size in near[symbol])
        for symbol, sizes in near.items():
            yield from ({symbol: size} for size in sizes)
        for one, other in itertools.combinations(near, 2):
            for first, second in itertools.product(near[one][:12], near[other][:12]):
                yield {**dict.fromkeys(classes[one], first), **dict.fromkeys(classes[other], second)}

    def _near(self, symbol: Any, expression: Any) -> List[int]:
        size = self.hints[symbol]
        named = {int(number) + step for number in expression.atoms(sympy.Integer) for step in (-1, 0, 1)}
        sizes = {*range(2 * size + 4), *(size * factor for factor in FACTORS), *(other for other in named if other > 0)}
        return sorted(sizes, key=lambda other: (other == 0, abs(other - size)))  # without elements nothing differs


def _unused(program: Any, module: nn.Module) -> List[str]:
    read = {node.name for node in program.graph.nodes if node.op == "placeholder" and node.users}
    parameters = dict(module.named_parameters(remove_duplicate=False))
    names = {name for given, name in program.graph_signature.inputs_to_parameters.items() if given in read}
    used = {id(parameters[name]) for name in names}
    left = [name for name, parameter in parameters.items() if id(parameter) not in used]
    whole = {
        path: path + "."
        for path, part in module.named_modules()
        if path and any(True for _ in part.parameters()) and not any(id(parameter) in used for parameter in part.parameters())
    }
    told = [next((path for path, start in whole.items() if name.startswith(start)), name) for name in left]
    return list(dict.fromkeys(told))
