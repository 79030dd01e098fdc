"""A checkpoint's folder of transformers or timm in, a folded one out."""

from __future__ import annotations

import pathlib
from typing import Optional

from normlens.engine.client import Progress
from normlens.engine.program import Path
from normlens.report.report import ChangeReport


def fold_folder(
    folder: Path,
    output: Path,
    *,
    policy: str = "free",
    max_growth: float = 10,
    gamma: str = "keep",
    trust_remote_code: bool = False,
    time_limit: float = 0,
    engine: Optional[Path] = None,
    progress: Optional[Progress] = None,
) -> ChangeReport:
    """Folds the checkpoint in `folder` (config.json and its weights) to the new folder `output`.

    The class that config.json names is made with all its heads, folded, and verified in float64 and in the type that most of its
    numbers are stored in; what is written is read back and compared with the original, as the class of the fold and as the
    unchanged class. report.notes has the figure by which the outputs moved. Where nothing folds, nothing is written, and
    report.output is None.

    output: gets config.json, the files of tokenizers and processors, the weights as safetensors in the types, under the
        names and in the shards that they had, and modeling_normlens.py with the class of the fold, where it differs from the
        unchanged one. It must be new or empty.
    policy: "free" centers weights alone. With "balanced" or "all" the class of the fold may center a module's output too.
    trust_remote_code: whether Python files of the folder are run, and copied. Without it no code of the folder runs.
    gamma: "fold" also moves the weights (γ) of RMSNorms, old and new, into the linear layers behind them; the files have ones.
    max_growth, time_limit, engine, progress: as for normlens.fold.

    Raises FolderRefused where the folder cannot be read safely or is of another kind, NotEqual, and what normlens.fold does.
    """
    from normlens.checkpoint.folder import fold

    asking = {"engine": engine, "progress": progress, "time_limit": time_limit}
    wanted = {"policy": policy, "max_growth_percent": max_growth, "gamma": gamma}
    return fold(pathlib.Path(folder), pathlib.Path(output), wanted, trust_remote_code, asking)
