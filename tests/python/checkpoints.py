"""Small checkpoints with random weights, as folders of transformers and timm, and what is expected of a folded one."""

import importlib.util
import os
import pathlib
import sys
import tempfile

import package

package.need_torch()
if any(importlib.util.find_spec(name) is None for name in ("transformers", "timm")):
    print("skipped: transformers or timm is not installed: packaging/test installs both")
    sys.exit(package.SKIPPED)

MODULES = tempfile.TemporaryDirectory()
os.environ.update(HF_HUB_OFFLINE="1", HF_MODULES_CACHE=MODULES.name)  # before transformers is imported

import torch
import transformers
from torch import nn

from normlens.atlas.models import config_of, settled
from normlens.module.compare import relative
from normlens.module.inputs import as_inputs
from normlens.module.modes import quiet, without_cache

IDS = {"input_ids": torch.randint(3, 90, (2, 9), generator=torch.Generator().manual_seed(1))}
IMAGE = {"pixel_values": torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(2), dtype=torch.float64)}
WAVES = {"input_features": torch.randn(2, 80, 32, generator=torch.Generator().manual_seed(2), dtype=torch.float64)}


def model_of(name, dtype=torch.float32, **options):
    """Of that class of transformers. γ and β are random: nothing folds by chance."""
    kind = getattr(transformers, name)
    torch.manual_seed(0)
    with quiet():
        return settled(kind(config_of(kind.config_class, **options))).to(dtype).eval()


def saved(model, folder, **options):
    with quiet():
        model.save_pretrained(folder, **options)
    return pathlib.Path(folder)


def loaded(test, folder, auto, dtype, trusted):
    """By the auto class, as a user does; each tensor of the class is in the files, and no other."""
    with quiet():
        model, info = getattr(transformers, auto).from_pretrained(
            folder, trust_remote_code=trusted, dtype=dtype, local_files_only=True, output_loading_info=True
        )
    test.assertFalse(any(info.values()), info)
    return model.eval()


def outputs(model, inputs):
    dtype = next(model.parameters()).dtype
    given = as_inputs(inputs).map(lambda one: one.to(dtype) if one.is_floating_point() else one)
    with torch.no_grad(), without_cache(model):
        return given.call(model)


def rms_norms(model):
    return [path for path, part in model.named_modules() if isinstance(part, nn.RMSNorm)]


def largest(one, other):
    """The largest difference of their logits, or of the last hidden states, relative to the largest number."""
    held = [(one[key], other[key]) for key in other if isinstance(other[key], torch.Tensor)]
    return max(float((a.double() - b.double()).abs().max() / b.double().abs().max()) for a, b in held)


def assert_equal_in_float64(test, folded, original, inputs, limit=1e-10):
    test.assertLess(relative(outputs(folded, inputs), outputs(original, inputs)), limit)


def assert_equal_within_rounding(test, folded, original, inputs):
    """Rounding moves the original itself; the fold may move it by six times that."""
    given = outputs(original, inputs)
    exact = outputs(original.double(), inputs)
    test.assertLess(largest(outputs(folded, inputs), given), 6 * largest(given, exact))
