"""The architectures of the atlas: name, group, class of transformers or timm's name, inputs of forward, and what its
configuration is given beside the small sizes of `models`."""

from typing import Any, Dict, NamedTuple, Tuple

TEXT, IMAGE, WAVE = "input_ids:2,7", "pixel_values:2,3,32,32", "input_values:1,2000"
PAIR, BOTH, VIDEO = f"{TEXT} decoder_input_ids:2,5", f"{TEXT} {IMAGE}", "pixel_values:1,2,3,32,32"


class Architecture(NamedTuple):
    name: str
    group: str
    made: str  # class of transformers, or "timm.NAME"
    inputs: str  # name:shape; integers where the name says ids, mask or labels
    options: Dict[str, Any]


# Paper 001, table 3: LayerNorms, foldable, foldable with the practical extension.
PRINTED = {
    "GPT-2": (25, 0, 25), "BERT": (25, 24, 25), "ViT": (25, 0, 25), "Phi": (25, 0, 25), "OPT": (25, 0, 25), "BLOOM": (6, 5, 6),
}  # fmt: skip
# Those of which the same paper says that they use RMSNorm from the start.
RMS = ("Phi-3", "Qwen2", "T5", "Mamba-2", "LLaMA")


def _rows(group: str, inputs: str, *rows: Any) -> Tuple[Architecture, ...]:
    made = []
    for name, kind, *more in rows:
        given = next((one for one in more if isinstance(one, str)), inputs)
        options = next((one for one in more if isinstance(one, dict)), {})
        made.append(Architecture(name, group, kind, given, options))
    return tuple(made)


CONV = {"num_feat_extract_layers": 3, "conv_dim": (32, 32, 32), "conv_kernel": (10, 3, 3), "conv_stride": (5, 2, 2)}
CONV.update(num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2)
STAGES = {"hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 1, 1], "num_stages": 4, "patch_size": 4}
TOWERS = {"projection_dim": 16}
EXPERTS = {"experts_implementation": "batched_mm"}  # which has a form in ONNX
SERIES = "past_values:2,{0} past_time_features:2,{0},1 past_observed_mask:2,{0} future_values:2,4 future_time_features:2,4,1"
TIMES = {"prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "num_time_features": 1}

ROWS = (
    *_rows(
        "Decoders", TEXT,
        ("GPT-2", "GPT2LMHeadModel", {"num_hidden_layers": 12}), ("OPT", "OPTForCausalLM", {"num_hidden_layers": 12}),
        ("Phi", "PhiModel", {"num_hidden_layers": 24}), ("BLOOM", "BloomModel"), ("GPT", "OpenAIGPTModel"),
        ("GPT-Neo", "GPTNeoModel", {"attention_types": [[["global", "local"], 1]]}), ("GPT-NeoX", "GPTNeoXForCausalLM"),
        ("GPT-J", "GPTJModel", {"rotary_dim": 4}), ("GPT-BigCode", "GPTBigCodeModel"),
        ("CodeGen", "CodeGenModel", {"rotary_dim": 4}), ("CTRL", "CTRLModel", {"dff": 48}), ("Falcon", "FalconModel"),
        ("Falcon, new decoder", "FalconModel", {"new_decoder_architecture": True, "num_kv_heads": 2}), ("MPT", "MptModel"),
        ("StableLM", "StableLmModel"),
        ("StableLM 2, normed queries", "StableLmModel", {"qk_layernorm": True, "use_parallel_residual": True}),
        ("StarCoder2", "Starcoder2Model"), ("Persimmon", "PersimmonModel"), ("BioGPT", "BioGptModel"),
        ("XGLM", "XGLMModel", {"attention_heads": 4}), ("Cohere", "CohereModel"), ("OLMo", "OlmoModel"),
        ("Nemotron", "NemotronModel", {"num_key_value_heads": 4}), ("Phi-MoE", "PhimoeModel", EXPERTS),
        ("XLNet", "XLNetModel", {"d_inner": 48}), ("ModernBERT decoder", "ModernBertDecoderModel"),
        ("RWKV", "RwkvModel", {"attention_hidden_size": 32}), ("Image GPT", "ImageGPTModel"),
        ("MusicGen decoder", "MusicgenForCausalLM", "input_ids:8,7", {"num_codebooks": 4}),
        ("Bark", "BarkCausalModel", {"input_vocab_size": 101, "output_vocab_size": 101, "block_size": 32}),
        ("LLaMA", "LlamaForCausalLM"), ("Mixtral", "MixtralModel", EXPERTS), ("Qwen2", "Qwen2Model"),
        ("Gemma 2", "Gemma2Model"), ("Phi-3", "Phi3Model"),
        ("DeepSeek-V2", "DeepseekV2Model", {**EXPERTS, "kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4,
                                            "v_head_dim": 4, "n_group": 1, "topk_group": 1, "num_experts_per_tok": 2}),
        ("Mamba", "MambaModel", {"time_step_rank": 4, "state_size": 4}),
        ("Mamba-2", "Mamba2Model", {"num_heads": 8, "head_dim": 8, "n_groups": 2, "state_size": 8, "chunk_size": 8}),
    ),
    *_rows(
        "Encoders", TEXT,
        ("BERT", "BertModel", {"num_hidden_layers": 12}), ("RoBERTa", "RobertaModel"),
        ("RoBERTa, pre-norm", "RobertaPreLayerNormModel"), ("DistilBERT", "DistilBertModel"), ("ALBERT", "AlbertModel"),
        ("ELECTRA", "ElectraModel"), ("DeBERTa", "DebertaModel", {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
        ("DeBERTa-v2", "DebertaV2Model", {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "norm_rel_ebd": "layer_norm"}),
        ("MPNet", "MPNetModel"),
        ("MobileBERT", "MobileBertModel", {"true_hidden_size": 16, "intra_bottleneck_size": 16, "normalization_type": "layer_norm"}),
        ("SqueezeBERT", "SqueezeBertModel"), ("ConvBERT", "ConvBertModel"), ("FNet", "FNetModel"),
        ("BigBird", "BigBirdModel", {"attention_type": "original_full"}),
        ("Longformer", "LongformerModel", {"attention_window": [4, 4]}),
        ("Nyströmformer", "NystromformerModel", "input_ids:2,8", {"num_landmarks": 8, "segment_means_seq_len": 8}),
        ("RoFormer", "RoFormerModel"), ("RemBERT", "RemBertModel", {"input_embedding_size": 16}), ("XLM", "XLMModel"),
        ("Funnel", "FunnelModel", "input_ids:2,8", {"block_sizes": [1, 1], "num_decoder_layers": 1, "d_inner": 48, "d_head": 8}),
        ("I-BERT", "IBertModel"),
        ("CANINE", "CanineModel", "input_ids:2,32", {"local_transformer_stride": 16, "num_hash_buckets": 64}),
        ("ESM", "EsmModel", {"vocab_size": 101, "mask_token_id": 3, "pad_token_id": 2, "position_embedding_type": "rotary"}),
        ("Megatron-BERT", "MegatronBertModel"), ("ModernBERT", "ModernBertModel"), ("EuroBERT", "EuroBertModel"),
        ("NomicBERT", "NomicBertModel"),
        ("LayoutLMv3, text", "LayoutLMv3Model", {"coordinate_size": 6, "shape_size": 4, "visual_embed": False}),
        ("LiLT", "LiltModel", {"hidden_size": 48}), ("CLIP text", "CLIPTextModel"), ("SigLIP text", "SiglipTextModel"),
    ),
    *_rows(
        "Encoder-decoders", PAIR,
        ("BART", "BartModel"), ("mBART", "MBartModel"), ("Pegasus", "PegasusModel"),
        ("Pegasus-X", "PegasusXModel", "input_ids:2,8 decoder_input_ids:2,5", {"num_global_tokens": 4, "block_size": 4}),
        ("Marian", "MarianModel"), ("M2M-100", "M2M100Model"), ("NLLB-MoE", "NllbMoeModel"), ("Blenderbot", "BlenderbotModel"),
        ("LED", "LEDModel", {"attention_window": [4, 4], "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64}),
        ("ProphetNet", "ProphetNetModel"),
        ("FSMT", "FSMTModel", {"src_vocab_size": 101, "tgt_vocab_size": 101, "langs": ["en", "de"]}), ("T5", "T5Model"),
        ("LongT5", "LongT5Model"),
    ),
    *_rows(
        "Vision", IMAGE,
        ("ViT", "ViTModel", {"num_hidden_layers": 12}), ("DeiT", "DeiTModel"), ("BEiT", "BeitModel"), ("DINOv2", "Dinov2Model"),
        ("DINOv3", "DINOv3ViTModel"),
        ("Swin", "SwinModel", {"embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4, "patch_size": 4}),
        ("Swin V2", "Swinv2Model", {"embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4, "patch_size": 4}),
        ("ConvNeXt", "ConvNextModel", STAGES), ("ConvNeXt V2", "ConvNextV2Model", STAGES),
        ("CvT", "CvtModel", {"embed_dim": [16, 24, 32], "num_heads": [1, 2, 2]}),
        ("PVT", "PvtModel", {**STAGES, "num_attention_heads": [1, 2, 4, 4]}),
        ("PVT v2", "PvtV2Model", {**STAGES, "num_attention_heads": [1, 2, 4, 4], "image_size": 32, "hidden_sizes": [16, 24, 32, 48]}),
        ("SegFormer", "SegformerModel", {**STAGES, "num_attention_heads": [1, 2, 4, 4]}),
        ("PoolFormer", "PoolFormerModel", STAGES),
        ("MobileViT", "MobileViTModel", {"neck_hidden_sizes": [8, 8, 16, 24, 32, 40, 64], "hidden_sizes": [32, 40, 48], "patch_size": 2}),
        ("Hiera", "HieraModel", {"embed_dim": 16, "depths": [1, 1, 1, 1], "num_heads": [1, 2, 4, 8], "image_size": [32, 32]}),
        ("FocalNet", "FocalNetModel", {"embed_dim": 16, "depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 64, 128]}),
        ("YOLOS", "YolosModel", {"image_size": [32, 32]}),
        ("SAM vision", "SamVisionModel", {"output_channels": 16, "global_attn_indexes": [1], "window_size": 2, "mlp_dim": 48}),
        ("SigLIP vision", "SiglipVisionModel"), ("CLIP vision", "CLIPVisionModel"),
        ("VideoMAE", "VideoMAEModel", VIDEO, {"num_frames": 2}),
        ("ViViT", "VivitModel", VIDEO, {"num_frames": 2, "tubelet_size": [2, 8, 8]}),
        ("TimeSformer", "TimesformerModel", VIDEO, {"num_frames": 2}),
        ("timm ViT", "timm.vit_tiny_patch16_224", {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 2, "init_values": 0.1}),
        ("timm Swin", "timm.swin_tiny_patch4_window7_224", {"img_size": 32, "embed_dim": 12, "depths": (1, 2), "num_heads": (2, 2), "window_size": 4}),
        ("timm ConvNeXt", "timm.convnext_tiny", {"depths": (1, 1, 1, 1), "dims": (8, 12, 16, 24)}),
        ("DeiT III", "timm.deit3_small_patch16_224", {"img_size": 32, "embed_dim": 32, "depth": 2, "num_heads": 4}),
        ("EVA-02", "timm.eva02_tiny_patch14_224", {"img_size": 28, "embed_dim": 32, "depth": 2, "num_heads": 4}, "x:2,3,28,28"),
        ("CaiT", "timm.cait_xxs24_224", {"img_size": 32, "embed_dim": 32, "depth": 2, "num_heads": 4}),
        ("XCiT", "timm.xcit_nano_12_p16_224", {"img_size": 32, "embed_dim": 32, "depth": 2, "num_heads": 4}),
        ("MLP-Mixer", "timm.MlpMixer", {"img_size": 32, "patch_size": 8, "embed_dim": 32, "num_blocks": 2}),
        ("PiT", "timm.pit_ti_224", {"img_size": 32, "patch_size": 4, "stride": 4, "base_dims": [8, 8, 8], "depth": [1, 1, 1], "heads": [2, 4, 8]}),
        ("TNT", "timm.tnt_s_patch16_224", {"img_size": 32, "embed_dim": 32, "depth": 2, "num_heads_outer": 4, "inner_dim": 8}),
        ("Twins", "timm.twins_svt_small", {"img_size": 32, "embed_dims": [16, 24, 32, 40], "num_heads": [1, 2, 2, 4], "depths": [1, 1, 1, 1]}),
        ("CrossViT", "timm.crossvit_tiny_240", {"embed_dim": [16, 32], "num_heads": [2, 2], "depth": [[1, 1, 0]]}, "x:1,3,240,240"),
        ("CoaT", "timm.coat_tiny", {"img_size": 32, "embed_dims": [16, 16, 16, 16], "serial_depths": [1, 1, 1, 1], "parallel_depth": 1}),
        ("ConViT", "timm.convit_tiny", {"img_size": 32, "embed_dim": 32, "depth": 2, "num_heads": 4, "local_up_to_layer": 1}),
        ("MaxViT", "timm.maxvit_rmlp_pico_rw_256", {"img_size": 64, "embed_dim": (32, 32, 64, 64), "depths": (1, 1, 1, 1), "stem_width": 16}, "x:2,3,64,64"),
        ("CoAtNet", "timm.coatnet_0_rw_224", {"img_size": 64, "embed_dim": (32, 32, 64, 64), "depths": (1, 1, 1, 1), "stem_width": (16, 16)}, "x:2,3,64,64"),
        ("EdgeNeXt", "timm.edgenext_xx_small", {"dims": (8, 16, 24, 32), "depths": (2, 2, 2, 2)}),
        ("GC ViT", "timm.GlobalContextVit", {"img_size": 64, "embed_dim": 16, "depths": (1, 1, 1, 1), "num_heads": (1, 1, 2, 2)}, "x:2,3,64,64"),
        ("DaViT", "timm.davit_tiny", {"embed_dims": (16, 24, 32, 40), "num_heads": (1, 1, 2, 2), "depths": (1, 1, 1, 1), "window_size": 4}),
        ("VOLO", "timm.VOLO", {"img_size": 64, "embed_dims": (16, 32, 32, 32), "num_heads": (2, 4, 4, 4), "layers": (1, 1, 1, 1)}, "x:2,3,64,64"),
        ("Sequencer2D", "timm.sequencer2d_s", {"img_size": 56, "embed_dims": (16, 16, 24, 24), "hidden_sizes": (4, 8, 8, 8), "layers": (1, 1, 1, 1)}, "x:2,3,56,56"),
        ("NesT", "timm.Nest", {"img_size": 32, "patch_size": 2, "num_levels": 2, "embed_dims": (16, 32), "num_heads": (2, 2), "depths": (1, 1)}),
        ("TinyViT", "timm.tiny_vit_5m_224", {"embed_dims": (16, 24, 32, 40), "num_heads": (1, 1, 2, 2), "depths": (1, 1, 1, 1), "window_sizes": (4, 4, 2, 2)}),
        ("MambaOut", "timm.mambaout_femto", {"dims": (16, 24, 32, 40), "depths": (1, 1, 1, 1)}),
    ),
    *_rows(
        "Speech", WAVE,
        ("Whisper", "WhisperModel", "input_features:1,80,32 decoder_input_ids:1,5", {"max_source_positions": 16}),
        ("wav2vec 2.0", "Wav2Vec2Model", CONV),
        ("wav2vec 2.0, stable", "Wav2Vec2Model", {**CONV, "do_stable_layer_norm": True, "feat_extract_norm": "layer"}),
        ("HuBERT", "HubertModel", CONV), ("WavLM", "WavLMModel", CONV), ("SEW", "SEWModel", {**CONV, "squeeze_factor": 2}),
        ("data2vec audio", "Data2VecAudioModel", {**CONV, "num_conv_pos_embeddings": 2, "conv_pos_kernel_size": 3}),
        ("wav2vec 2.0 Conformer", "Wav2Vec2ConformerModel", CONV),
        ("wav2vec2-BERT", "Wav2Vec2BertModel", "input_features:1,12,160"),
        ("Speech2Text", "Speech2TextModel", "input_features:1,32,80 decoder_input_ids:1,5", {"conv_channels": 16}),
        ("AST", "ASTModel", "input_values:1,64,32", {"max_length": 64, "num_mel_bins": 32}),
        ("Moonshine", "MoonshineModel", "input_values:1,4000 decoder_input_ids:1,5"),
    ),
    *_rows(
        "Multimodal", BOTH,
        ("CLIP", "CLIPModel", TOWERS), ("SigLIP", "SiglipModel"), ("ViLT", "ViltModel"),
        ("BLIP text", "BlipTextModel", TEXT, {"is_decoder": False, "encoder_hidden_size": 32}),
        ("GroupViT", "GroupViTModel", TOWERS), ("OWL-ViT", "OwlViTModel", TOWERS),
    ),
    *_rows(
        "Other", "past_values:2,16,2",
        ("PatchTST", "PatchTSTModel", {"num_input_channels": 2, "context_length": 16, "patch_length": 4, "patch_stride": 4, "norm_type": "layernorm"}),
        ("PatchTSMixer", "PatchTSMixerModel", {"num_input_channels": 2, "context_length": 16, "patch_length": 4, "patch_stride": 4, "norm_mlp": "LayerNorm"}),
        ("Time series transformer", "TimeSeriesTransformerModel", SERIES.format(10), TIMES),
        ("Decision Transformer", "DecisionTransformerModel", "states:1,5,4 actions:1,5,3 rewards:1,5,1 returns_to_go:1,5,1 timesteps:1,5 attention_mask:1,5",
         {"state_dim": 4, "act_dim": 3, "max_ep_len": 101}),
        ("Perceiver", "PerceiverModel", "inputs:2,7,16", {"d_latents": 16, "num_latents": 4, "num_blocks": 1, "num_self_attends_per_block": 2, "num_cross_attention_heads": 2, "num_self_attention_heads": 2, "d_model": 16}),
    ),
)  # fmt: skip
