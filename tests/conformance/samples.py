"""Where the sample models are, and how the engine is called on them."""

import functools
import json
import os
import pathlib
import subprocess
import sys

ENGINE = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("NORMLENS_SHARED", REPOSITORY.parent / "shared"))
MODELS = SHARED / "models"


def engine(*words, timeout=120):
    """-> (exit status, the JSON object on stdout, stderr)"""
    done = subprocess.run(
        [ENGINE, *map(str, words), "--json"], capture_output=True, text=True, timeout=timeout, check=False
    )
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr


def load_operators():
    """Ours, for this process's torch."""
    import torch

    torch.ops.load_library(engine("doctor")[1]["ops_library"])


def facts(name):
    return json.loads((MODELS / "visible" / f"{name}.json").read_text())


def base(path):
    """mlp.script.pt -> mlp"""
    return path.name.split(".")[0]


@functools.cache
def analyzed(path, inputs):
    """As engine() does it, once for each file: what a test writes, it analyzes only when the file is done."""
    return engine("analyze", path, "--inputs", inputs)


def written_out(path, inputs):
    """How many LayerNorms and RMSNorms are written out in several ops."""
    analysis = analyzed(path, inputs)[1]
    return sum(norm["form"] == "decomposed" for norm in analysis["layer_norms"] + analysis["other_norms"])


def verdicts(test, path, inputs):
    """Of the LayerNorms, by name."""
    status, analysis, errors = analyzed(path, inputs)
    test.assertEqual(status, 0, errors)
    return {norm["name"]: norm["verdict"] for norm in analysis["layer_norms"]}
