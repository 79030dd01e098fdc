"""NormLens for Python: which LayerNorms of a model can become RMSNorm exactly, the fold, and training behind centered weights.

    report = normlens.analyze(model, inputs)          # or a .pt, .pt2, .onnx file
    folded, report = normlens.fold(model, inputs)     # an equal module with nn.RMSNorm
    report = normlens.fold_folder(HF_DIR, OUT_DIR)    # an equal checkpoint of transformers or timm
    model, report = normlens.cbwc(model, inputs)      # train it; then normlens.uncbwc(model)

torch is imported by what needs a module: a path is analysed without it.
"""

from normlens.analyzing import analyze
from normlens.checkpoint import fold_folder
from normlens.errors import EngineDied, EngineError, EngineNotFound, ExportFailed, FolderRefused
from normlens.errors import NormLensError, NotEqual, OutsideContract
from normlens.folding import fold, unguard
from normlens.report.picture import Picture
from normlens.report.report import ChangeReport, Check, Norm, Report
from normlens.training import cbwc, uncbwc
from normlens.version import version

__version__ = version()
__all__ = [
    "ChangeReport",
    "Check",
    "EngineDied",
    "EngineError",
    "EngineNotFound",
    "ExportFailed",
    "FolderRefused",
    "Norm",
    "NormLensError",
    "NotEqual",
    "OutsideContract",
    "Picture",
    "Report",
    "analyze",
    "cbwc",
    "fold",
    "fold_folder",
    "uncbwc",
    "unguard",
]
