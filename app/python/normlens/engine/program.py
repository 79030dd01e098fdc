"""Where the engine program is."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import sys
from typing import Iterator, Optional, Union

from normlens.errors import EngineNotFound

PROGRAM = "normlens-engine"
VARIABLE = "NORMLENS_ENGINE"
RUNTIMES = (("NORMLENS_TORCH", "torch", "lib"), ("NORMLENS_ONNXRUNTIME", "onnxruntime", "capi"))

Path = Union[str, "os.PathLike[str]"]


def checkout() -> Optional[pathlib.Path]:
    """The folder of the sources that this package lies in; None where it was installed elsewhere."""
    root = pathlib.Path(__file__).resolve().parents[4]
    return root if (root / "app" / "engine").is_dir() and (root / "CMakeLists.txt").is_file() else None


def _built() -> Iterator[pathlib.Path]:
    """Programs of the checkout's build folders, those of the release build first, then the newest."""
    root = checkout()
    programs = [] if root is None else [p for p in root.glob(f"build/*/bin/{PROGRAM}") if os.access(p, os.X_OK)]
    return iter(sorted(programs, key=lambda p: (p.parts[-3] != "release", -p.stat().st_mtime)))


def _named(given: Path, by: str) -> str:
    found = shutil.which(os.fspath(given))
    if found is None:
        raise EngineNotFound(f"{by} names {os.fspath(given)}, which is no program that can be run")
    return found


def installed(name: str) -> Optional[pathlib.Path]:
    """A program that was installed with this package; None where the package came without programs."""
    program = pathlib.Path(__file__).resolve().parents[1] / "bin" / name
    return program if os.access(program, os.X_OK) else None


def environment_for(program: Path) -> dict[str, str]:
    """The environment to start a program in. One that was installed with this package is to use the torch and onnxruntime
    of this Python, which may lie in other folders than the package does: variables name them, but for those that are set."""
    found = {}
    if pathlib.Path(program).parent == pathlib.Path(__file__).resolve().parents[1] / "bin":
        found["NORMLENS_PYTHON"] = sys.executable
        for variable, package, folder in RUNTIMES:
            spec = importlib.util.find_spec(package)
            places = (spec.submodule_search_locations or ()) if spec else ()
            found.update({variable: str(at) for at in (pathlib.Path(place, folder) for place in places) if at.is_dir()})
    return {**found, **os.environ}


def find_engine(given: Optional[Path] = None) -> str:
    """The path of the engine program.

    given: a path or a name on PATH; else the environment variable NORMLENS_ENGINE, else the one that was installed with
    this package, else `normlens-engine` on PATH, else that of a build folder of the checkout. Raises EngineNotFound; a program that is named is never replaced by another.
    """
    if given is not None:
        return _named(given, "the argument engine")
    if os.environ.get(VARIABLE):
        return _named(os.environ[VARIABLE], f"the environment variable {VARIABLE}")
    found = installed(PROGRAM) or shutil.which(PROGRAM)
    if found is not None:
        return str(found)
    for program in _built():
        return str(program)
    raise EngineNotFound(
        f"the program {PROGRAM} was not found: it is neither on PATH nor in a build folder of the sources; "
        f"build it (packaging/run) and name it with {VARIABLE}=/path/to/{PROGRAM} or the argument engine"
    )
