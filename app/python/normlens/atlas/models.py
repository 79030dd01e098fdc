"""Builds the architectures: small models of transformers and timm, from their configurations, with random weights."""

from __future__ import annotations

import functools
import inspect
import zlib
from typing import Any, Dict

import torch
from torch import nn

from normlens.atlas.table import Architecture
from normlens.module.inputs import Inputs

# Given to a configuration that has a number of that name.
SMALL = {
    name: size
    for size, names in {
        2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_encoder_layers num_decoder_layers depth pad_token_id",
        4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads num_key_value_heads "
        "num_encoder_attention_heads num_decoder_attention_heads num_experts num_local_experts n_routed_experts",
        8: "head_dim d_kv patch_size",
        16: "moe_intermediate_size",
        32: "hidden_size n_embd d_model dim emb_dim embedding_size word_embed_proj_dim embed_dim image_size",
        48: "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff ffn_hidden_size hidden_dim",
        64: "max_position_embeddings n_positions max_source_positions max_target_positions",
        101: "vocab_size entity_vocab_size",
        0: "bos_token_id",
        1: "eos_token_id",
    }.items()
    for name in names.split()
}


def config_of(kind: Any, **options: Any) -> Any:
    """A configuration of that class with small sizes, and what else it is given."""
    usual, given = kind(), {}
    for name, value in {**{name: getattr(usual, name, None) for name in SMALL}, **vars(usual)}.items():
        if isinstance(value, float) and "drop" in name:
            given[name] = 0.0
        elif name in SMALL and isinstance(value, int) and not isinstance(getattr(kind, name, None), property):
            given[name] = SMALL[name]
    for name, part in kind.sub_configs.items():
        if hasattr(part, "sub_configs"):
            given[name] = config_of(part, **options.pop(name, {})).to_dict()
    named = {kind.attribute_map.get(name, name): value for name, value in [*given.items(), *options.items()]}
    return kind(**named)


def build(of: Architecture, made: str = "", **options: Any) -> nn.Module:
    """In evaluation mode. made: another class for the same configuration; options: beside the table's."""
    torch.manual_seed(0)
    options = {**of.options, **options}
    library, _, name = of.made.rpartition(".")
    if library == "timm":
        import timm

        made_by = getattr(timm.models, name) if name[0].isupper() else functools.partial(timm.create_model, name)
        return settled(made_by(num_classes=5, **options)).eval()
    import transformers

    kind = getattr(transformers, made or name)
    return settled(kind(config_of(kind.config_class, **options))).eval()


def inputs_of(of: Architecture, module: nn.Module) -> Inputs:
    """In the order of forward."""
    drawn: Dict[str, torch.Tensor] = {}
    for text in of.inputs.split():
        name, sizes = text.split(":")
        shape, generator = [int(size) for size in sizes.split(",")], torch.Generator().manual_seed(zlib.crc32(name.encode()))
        whole = name.endswith(("ids", "labels", "timesteps"))
        drawn[name] = torch.randint(3, 90, shape, generator=generator) if whole else torch.randn(shape, generator=generator)
        if name.endswith("mask"):
            drawn[name] = torch.ones(shape, dtype=torch.int64)
    if of.made.startswith("timm."):
        return Inputs(tuple(drawn.values()))
    return Inputs((), {name: drawn[name] for name in inspect.signature(module.forward).parameters if name in drawn})


def settled(module: nn.Module, seed: int = 3) -> nn.Module:
    """Random gammas, betas and biases: nothing folds by chance."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.add_(((0.3 if parameter.dim() == 1 else 0.05) * noise).to(parameter))
    return module
