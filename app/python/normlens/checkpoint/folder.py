"""A checkpoint's folder folded to another folder, which is complete and judged, or does not exist."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import os
import pathlib
import secrets
import shutil
from typing import Any, Dict, Iterator, Set, Tuple

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import nn

from normlens.checkpoint.code import MODULE, Changed, changed, code_of
from normlens.checkpoint.judge import judged
from normlens.checkpoint.library import Tensors, library_of
from normlens.checkpoint.source import Source, read_source
from normlens.engine.session import Json
from normlens.errors import FolderRefused
from normlens.folding import Done, folded_into
from normlens.report.report import ChangeReport

LOAD = """# {name}, folded by NormLens

The weights are right for the unchanged model, and for one with RMSNorms, which is the cheaper one:

```python
import timm
from {module} import with_rms_norms

model = timm.create_model("local-dir:FOLDER", pretrained=True)  # FOLDER: this one
model = with_rms_norms(model)
```
"""


def fold(folder: pathlib.Path, output: pathlib.Path, wanted: Json, trusted: bool, asking: Json) -> ChangeReport:
    """As normlens.fold_folder. wanted: PlanParams. asking: keywords of normlens.analyzing.opened."""
    with _refusing(output):
        _check_output(folder, output)
    with _made(output) as made:
        return _folded(folder, output, made, wanted, trusted, asking)


def _folded(folder: pathlib.Path, output: pathlib.Path, made: pathlib.Path, wanted: Json, trusted: bool, asking: Json) -> ChangeReport:
    source = read_source(folder, trusted)
    if any(path.stem == MODULE for path in source.code):
        raise FolderRefused(f"{folder} holds {MODULE}.py: it is a fold already, and a new one would take that file's place")
    with contextlib.ExitStack() as code:
        library = library_of(source, code)
        model = library.make(source.config, source.tensors, source.widest())
        _check_finite(model)
        inputs, target = library.example(model), copy.deepcopy(model)
        before = dict(target.named_parameters(remove_duplicate=False))
        _, done, _, report = folded_into(lambda: target, model, inputs, wanted, asking)
        folded = set(report.folded)
        what = changed(target, report.folded, before)
        report = dataclasses.replace(report, source=str(folder), norms=_states(report, what))
        if done.exact is None or (folded and not what.norms):
            return report
        _check_buffers(done.exact, model)
        exact = _state(done.exact, model, folded - set(what.norms))
        with _refusing(output):
            _write(made, source, library, target, model, exact, what, done)
            result = judged(made, library, source, exact, inputs, bool(what.norms))
            _move(made, _resolved(output))
    notes = (*report.notes, result.moved(source.stored()))
    return dataclasses.replace(report, checks=(*report.checks, *result.checks), notes=notes, output=output)


def _check_output(folder: pathlib.Path, output: pathlib.Path) -> None:
    if not os.path.isdir(folder):  # which raises for no name
        raise FolderRefused(f"{folder} is no folder")
    place, root = _resolved(output), folder.resolve()
    for path in (place, root):
        if str(path).encode("utf-8", "ignore") != os.fsencode(path):
            raise FolderRefused(f"the name {path} is not in UTF-8, which safetensors needs; give it another one")
    if place == root or root in place.parents or place in root.parents:
        raise FolderRefused(f"{output} is the checkpoint's own folder, or one inside or around it; name another one")
    if output.is_symlink() or (output.exists() and (not output.is_dir() or any(output.iterdir()))):
        raise FolderRefused(f"{output} holds something already; name a folder that is new or empty")
    if not place.parent.is_dir():
        raise FolderRefused(f"{place.parent} is no folder that {output.name} could be made in")


def _resolved(output: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(os.path.realpath(output))  # Path.resolve raises for a link that leads to itself


def _check_finite(model: nn.Module) -> None:
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            raise FolderRefused(f"{name} has infinite numbers, or some that are none (nan), and outputs of such a model cannot be compared")


def _check_buffers(exact: nn.Module, model: nn.Module) -> None:
    held, before = exact.state_dict().keys(), dict(model.named_buffers())
    for name, now in exact.named_buffers():
        if name not in held and not torch.equal(now.nan_to_num(), before[name].to(now.dtype).nan_to_num()):
            raise FolderRefused(
                f"the fold would center {name}, which {type(model).__name__} computes and no file holds; "
                "normlens.fold folds it as a module"
            )


def _states(report: ChangeReport, what: Changed) -> Tuple[Any, ...]:
    """The norms of the report; those that the written class keeps are kept."""
    why = "its class computes its weight from its parameters, and stays; its input has no mean"
    return tuple(
        dataclasses.replace(norm, state="kept", because=why) if norm.folds and norm.path not in what.norms else norm
        for norm in report.norms
    )


def _state(exact: nn.Module, model: nn.Module, kept: Set[str]) -> Dict[str, torch.Tensor]:
    """The folded state dict in float64, by all names of the unchanged class. A bias that linear layers took in is zeros.
    kept: paths of folded norms that stay as they are in the class."""
    now, state = exact.state_dict(), {}
    for name, tensor in model.state_dict().items():
        path, _, last = name.rpartition(".")
        absorbed = name not in now and last == "bias"
        state[name] = torch.zeros_like(tensor) if absorbed else tensor if path in kept else now[name]
    return state


@contextlib.contextmanager
def _refusing(output: pathlib.Path) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
        raise FolderRefused(f"{output} cannot be written: {reason}") from None


@contextlib.contextmanager
def _made(output: pathlib.Path) -> Iterator[pathlib.Path]:
    """A folder in it, where it exists, or next to it. It is made before the work, so that one which cannot be is refused at once,
    and is removed in any case."""
    place = _resolved(output)
    made = (place if place.is_dir() else place.parent) / f".normlens.{secrets.token_hex(4)}"
    try:
        with _refusing(output):
            made.mkdir()
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _move(made: pathlib.Path, place: pathlib.Path) -> None:
    """Gives it its name, or fills the folder that it is in; config.json comes last, so that what has one is complete."""
    if made.parent != place:
        made.rename(place)
        return
    if len(list(place.iterdir())) > 1:
        raise FolderRefused(f"{place} was filled meanwhile; name a folder that is new or empty")
    moved = []
    try:
        for path in sorted(made.iterdir(), key=lambda one: one.name == "config.json"):
            moved.append(place / path.name)
            path.rename(moved[-1])
    except BaseException:
        for path in moved:
            path.unlink(missing_ok=True)
        raise


def _write(
    made: pathlib.Path, source: Source, library: Any, folded: Any, model: Any, exact: Tensors, what: Changed, done: Done
) -> None:
    """folded, exact: the changed module, and its state dict in float64. model: the original."""
    names = source.tensors.keys()
    tensors = library.file_names(model, exact, names)
    biases = library.file_names(model, {name: exact[name] for name in what.absorbed}, names)
    what = dataclasses.replace(what, absorbed=sorted({*what.absorbed, *biases}))
    config = library.settings(folded, source.config, bool(what.norms))
    _write_tensors(made, source, tensors, bool(done.untied))
    for path in (*source.copied, *source.code):
        shutil.copyfile(path, made / path.name)
    (made / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    if not what.norms:
        return
    code = code_of(library.name, library.base, library.imports, what)
    (made / f"{MODULE}.py").write_text(code, encoding="utf-8")
    if not library.base:
        (made / "README.md").write_text(LOAD.format(name=library.name, module=MODULE), encoding="utf-8")


def _write_tensors(made: pathlib.Path, source: Source, tensors: Tensors, untied: bool) -> None:
    """In the source's shards and types; what the class does not read is the source's. untied: what had no tensor of its own
    in the files has one now."""
    shards = {file: list(names) for file, names in source.shards.items()}
    if untied:
        shards[list(shards)[-1]] += [name for name in tensors if name not in source.tensors]
    size = 0
    for file, names in shards.items():
        part = {}
        for name in names:
            dtype = source.tensors[name].dtype if name in source.tensors else source.stored()
            part[name] = tensors.get(name, source.tensors.get(name)).to(dtype).contiguous().clone()
        save_file(part, made / file, {"format": "pt"})
        (made / file).chmod(made.stat().st_mode & 0o666)  # safetensors lets its owner alone read it
        size += sum(tensor.nbytes for tensor in part.values())
    if len(shards) > 1:
        index = {"metadata": {"total_size": size}, "weight_map": {name: file for file in shards for name in shards[file]}}
        (made / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
