"""Small models of transformers and timm with random weights, each as (module, example inputs)."""

import torch

IDS = torch.randint(3, 90, (2, 7), generator=torch.Generator().manual_seed(1))
IMAGE = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(2))
SPECIAL = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
TEXT = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 40}
# As each of them calls it: what drops gives every norm behind it a mean while it is trained.
NO_DROPOUT = dict.fromkeys(["resid_pdrop", "embd_pdrop", "attn_pdrop", "hidden_dropout_prob", "dropout"], 0.0)
NO_DROPOUT |= dict.fromkeys(["attention_probs_dropout_prob", "attention_dropout"], 0.0)
VIT = {**TEXT, "image_size": 32, "patch_size": 8}


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_embd=24, n_head=2, vocab_size=101, n_positions=32, **NO_DROPOUT, **SPECIAL)
    return GPT2LMHeadModel(config), {"input_ids": IDS}


def bert():
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(vocab_size=101, max_position_embeddings=32, pad_token_id=2, **TEXT, **NO_DROPOUT)
    mask = torch.ones_like(IDS)
    mask[0, 5:] = 0
    return BertForMaskedLM(config), {"input_ids": IDS, "attention_mask": mask}


def opt():
    from transformers import OPTConfig, OPTForCausalLM

    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 40, "word_embed_proj_dim": 24}
    config = OPTConfig(vocab_size=101, max_position_embeddings=32, **sizes, **NO_DROPOUT, **SPECIAL)
    return OPTForCausalLM(config), {"input_ids": IDS}


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=101, max_position_embeddings=32, **TEXT, **SPECIAL)
    return LlamaForCausalLM(config), {"input_ids": IDS}


def neox():
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    config = GPTNeoXConfig(vocab_size=101, max_position_embeddings=32, **TEXT, **SPECIAL)
    return GPTNeoXForCausalLM(config), {"input_ids": IDS}


def vit():
    from transformers import ViTConfig, ViTForImageClassification

    return ViTForImageClassification(ViTConfig(num_labels=5, **VIT)), {"pixel_values": IMAGE}


def clip():
    from transformers import CLIPTextConfig, CLIPTextModel

    config = CLIPTextConfig(vocab_size=101, max_position_embeddings=32, **TEXT, **SPECIAL)
    return CLIPTextModel(config), {"input_ids": IDS}


def timm_vit():
    import timm

    sizes = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 2}
    return timm.models.VisionTransformer(num_classes=5, init_values=0.1, **sizes), IMAGE


def timm_swin():
    import timm

    sizes = {"img_size": 32, "patch_size": 4, "embed_dim": 12, "depths": (1, 2), "num_heads": (2, 2), "window_size": 4}
    return timm.models.SwinTransformer(num_classes=5, drop_path_rate=0.0, **sizes), IMAGE


def timm_convnext():
    import timm

    return timm.models.ConvNeXt(depths=(1, 1, 1, 1), dims=(8, 12, 16, 24), num_classes=5), IMAGE


FAMILIES = {
    "transformers": [gpt2, bert, opt, llama, neox, vit, clip],
    "timm": [timm_vit, timm_swin, timm_convnext],
}
