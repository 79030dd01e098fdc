"""normlens.analyze"""

from __future__ import annotations

import contextlib
import copy
import os
import pathlib
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Iterator, List, Mapping, Optional, Tuple, Union

from normlens.engine.client import Client, Progress
from normlens.engine.program import Path, find_engine
from normlens.engine.session import Json, Session
from normlens.errors import EngineError
from normlens.report.report import Report, norms_of

if TYPE_CHECKING:
    from torch import nn

    from normlens.module.branches import Branch

ModuleOrPath = Union["nn.Module", str, "os.PathLike[str]"]


def is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))


def analyze(
    module_or_path: ModuleOrPath,
    example_inputs: Any = None,
    *,
    policy: str = "balanced",
    max_growth: float = 10,
    time_limit: float = 0,
    engine: Optional[Path] = None,
    progress: Optional[Progress] = None,
) -> Report:
    """Finds for each LayerNorm whether it can become RMSNorm without changing any output.

    module_or_path: an nn.Module, which is exported with torch.export in evaluation mode; or a TorchScript (.pt),
        torch.export (.pt2) or ONNX file.
    example_inputs: of a module a tensor, a tuple of arguments, a dict of them by name, or a pair of both; their shapes
        are those that forward takes. Of a file a dict of arrays by the names of its inputs, a .npz file, or None: those
        that the file brings, or guessed.
    policy, max_growth: what the reported plan may do, of a module what fold does, tried on a copy: "free" adds no work at run
        time, "balanced" shares run-time centerings where that pays and lets the weights grow by max_growth percent, "all"
        folds whatever can be, "paper" what the paper's criterion promises.
    time_limit: seconds that a run of the model may take; 0: the engine's own limits.
    engine: the engine program; see normlens.engine.program.find_engine. progress: called with (stage, fraction).

    Raises EngineNotFound, EngineDied, EngineError (a file that cannot be read), ExportFailed, TypeError.
    """
    with opened(module_or_path, example_inputs, engine, progress, time_limit=time_limit) as (session, analysis, branch):
        wanted = {"policy": policy, "max_growth_percent": max_growth}
        if branch is None:
            plan = session.plan(**wanted)
            return report_of(session, name_of(module_or_path), analysis, plan)
        from normlens.folding import carried_out
        from normlens.module.inputs import as_inputs

        inputs, copied = as_inputs(example_inputs), copy.deepcopy(module_or_path)
        module: Any = module_or_path
        done = carried_out(session, analysis, branch, module, copied, inputs, wanted, foretells=True)
        return report_of(session, name_of(module_or_path), analysis, done.plan, norms=done.norms)


def name_of(module_or_path: ModuleOrPath) -> str:
    """What a report calls it."""
    return os.fspath(module_or_path) if is_path(module_or_path) else type(module_or_path).__name__  # type: ignore[arg-type]


@contextlib.contextmanager
def opened(
    module_or_path: ModuleOrPath,
    example_inputs: Any,
    engine: Optional[Path],
    progress: Optional[Progress],
    training: bool = False,
    time_limit: float = 0,
) -> Iterator[Tuple[Session, Json, Optional["Branch"]]]:
    """(session, its Analysis, what a module's graph holds for; None of a file). training: the mode that it is exported in."""
    if is_path(module_or_path):
        path = pathlib.Path(os.fspath(module_or_path))  # type: ignore[arg-type]
        with _arrays(example_inputs) as npz, Session(path, npz, engine, progress, time_limit) as session:
            yield session, session.analyze(), None
        return
    torch = sys.modules.get("torch")  # where nobody has imported it there are no modules
    if torch is None or not isinstance(module_or_path, torch.nn.Module):
        raise TypeError(f"an nn.Module or the path of a model file is wanted, not {type(module_or_path).__name__}")
    from normlens.module.export import exported
    from normlens.module.inputs import as_inputs

    program, inputs = find_engine(engine), as_inputs(example_inputs)
    with contextlib.ExitStack() as stack:
        for fixed in (False, True):
            stack.close()
            client = stack.enter_context(Client(program, progress, torch_first=True))  # which gets ready meanwhile
            path, branch = stack.enter_context(exported(module_or_path, inputs, training, fixed))
            try:
                session = stack.enter_context(Session(path, None, program, progress, time_limit, client))
                analysis = session.analyze()
            except EngineError:
                if fixed:
                    raise
                continue
            # An export may call sizes independent that are not; the engine then runs it where it does not run.
            if not analysis["probe_error"]:
                break
        session.info["note"] = None  # of the export, which nobody sees
        yield session, analysis, branch


@contextlib.contextmanager
def _arrays(given: Any) -> Iterator[Optional[Path]]:
    """A .npz file of what was given for a file's inputs."""
    if given is None or is_path(given):
        yield given
        return
    import numpy

    in_order = given if isinstance(given, (tuple, list)) else (given,)
    named = given if isinstance(given, Mapping) else {f"in_{place}": array for place, array in enumerate(in_order)}
    with tempfile.TemporaryDirectory(prefix="normlens-") as folder:
        path = pathlib.Path(folder, "inputs.npz")
        numpy.savez(path, **{name: numpy.asarray(array) for name, array in named.items()})
        yield path


def widths_of(analysis: Json) -> List[int]:
    """Of the LayerNorms."""
    return [size for one in analysis["norms"] for size in one["normalized_shape"]]


def report_of(session: Session, source: str, analysis: Json, plan: Json, kind: type = Report, **more: Any) -> Any:
    """A Report, or a kind of one, from the engine's results."""
    notes = [text for text in (session.info["note"], analysis["note"]) if text]
    if analysis["probe_error"]:
        notes.append(f"The model was not run: {analysis['probe_error']}")
    fields = {
        "source": source,
        "norms": norms_of(analysis, plan, session.graph),
        "totals": analysis["totals"],
        "inputs": tuple(f"{given['name']}: {given['dtype']}{given['shape']}" for given in analysis["inputs"]),
        "notes": tuple(notes),
        "engine": session.version,
        "policy": plan["policy"],
        "graph": {"nodes": session.graph["nodes"]},
        "regions": tuple(session.zero_mean_graph(norm["index"]) for norm in analysis["norms"]),
    }
    return kind(**{**fields, **more})
