"""The package from the sources, the engine that was built, and what the tests of it share."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "resources" / "models"

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "app" / "python"))
ENGINE = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("NORMLENS_ENGINE", "")
os.environ["NORMLENS_ENGINE"] = ENGINE

SKIPPED = 77  # CTest's SKIP_RETURN_CODE


def need_torch():
    """Ends the program as skipped where torch is missing."""
    try:
        import torch  # noqa: F401
    except ImportError:
        print("skipped: this Python has no torch")
        sys.exit(SKIPPED)
