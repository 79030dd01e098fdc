"""Example inputs of a model, from its configuration and from the parameters of its forward."""

from __future__ import annotations

import inspect
import itertools
import math
from typing import Any, Dict, Iterator, Tuple

import torch
from torch import nn

from normlens.errors import FolderRefused
from normlens.module.inputs import Inputs
from normlens.module.modes import quiet
from normlens.module.verify import run

TOKENS = (2, 7)
MOST_WORDS, MOST_NUMBERS = 1 << 20, 1 << 28  # of a vocabulary that ids are drawn from, and of one input
SPECIAL = ("pad_token_id", "bos_token_id", "eos_token_id")  # masks and poolings are computed from them
Shapes = Dict[str, Tuple[int, ...]]


def example_of(model: nn.Module, config: Any) -> Inputs:
    """The first of the candidates that the model takes. Raises FolderRefused where it takes none."""
    refused: Exception = ValueError("its forward has no parameter of a known name")
    dtype = next((one.dtype for one in model.parameters() if one.is_floating_point()), torch.float32)
    for shapes in _candidates(model, config):
        try:
            inputs = _drawn(shapes, config, dtype)
            with quiet():
                run(model, inputs, False)
            return inputs
        except FolderRefused:
            raise
        except Exception as error:  # the class may raise anything
            refused = error
    reason = f"{type(refused).__name__}: {refused}".splitlines()[0].rstrip(".")
    raise FolderRefused(f"no example inputs were found that {type(model).__name__} takes: {reason}")


def _candidates(model: nn.Module, config: Any) -> Iterator[Shapes]:
    """All inputs that forward has, then the main one alone, and of both the forms that audio has."""
    known = inspect.signature(model.forward).parameters
    main, paired = getattr(model, "main_input_name", ""), getattr(config, "is_encoder_decoder", False)
    for audio_last, alone in itertools.product((True, False), (False, True)):
        shapes = {name: shape for name, shape in _shapes(config, audio_last).items() if name in known}
        if not paired:
            shapes.pop("decoder_input_ids", None)
        yield {name: shape for name, shape in shapes.items() if not alone or name in (main, "decoder_input_ids")}


def _shapes(config: Any, audio_last: bool) -> Shapes:
    vision = getattr(config, "vision_config", None) or config
    size = getattr(vision, "image_size", None) or 224
    height, width = size.values() if isinstance(size, dict) else (size, size) if isinstance(size, int) else size
    bins, frames = getattr(config, "num_mel_bins", None) or 80, 2 * (getattr(config, "max_source_positions", None) or 1500)
    return {
        "input_ids": TOKENS,
        "pixel_values": (2, getattr(vision, "num_channels", None) or 3, height, width),
        "input_features": (2, bins, frames) if audio_last else (2, frames, bins),
        "input_values": (2, 4000),
        "decoder_input_ids": TOKENS,
    }


def need_small(shape: Tuple[int, ...]) -> None:
    """Raises FolderRefused for the sizes of an input that would take the memory."""
    if math.prod(shape) > MOST_NUMBERS:
        raise FolderRefused(f"config.json describes an input of the sizes {list(shape)}, which is too large to try")


def _drawn(shapes: Shapes, config: Any, dtype: torch.dtype) -> Inputs:
    generator, text = torch.Generator().manual_seed(0), config.get_text_config()
    special = {getattr(one, name, None) for one in (config, text) for name in SPECIAL}
    words = min(getattr(text, "vocab_size", None) or 0, MOST_WORDS)
    plain = torch.tensor([one for one in range(words) if one not in special] or [0])

    def of(name: str, shape: Tuple[int, ...]) -> torch.Tensor:
        if name.endswith("ids"):
            return plain[torch.randint(len(plain), shape, generator=generator)]
        need_small(shape)
        return torch.randn(shape, generator=generator).to(dtype)

    return Inputs((), {name: of(name, shape) for name, shape in shapes.items()})
