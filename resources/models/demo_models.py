"""The bundled models, in small: classes of transformers and timm, so that modules and tensors have the names that users meet."""

import timm
import transformers

TOKENS, POSITIONS, WIDTH, LAYERS, HEADS = 512, 128, 64, 4, 4


class GPT2(transformers.GPT2LMHeadModel):
    """The head shares its weight with the token table."""

    def forward(self, input_ids):
        return self.lm_head(self.transformer(input_ids, use_cache=False).last_hidden_state)


class BERT(transformers.BertModel):
    def forward(self, input_ids):
        out = super().forward(input_ids)
        return out.last_hidden_state, out.pooler_output


def gpt2():
    return GPT2(transformers.GPT2Config(vocab_size=TOKENS, n_positions=POSITIONS, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS))


def bert():
    return BERT(transformers.BertConfig(vocab_size=TOKENS, max_position_embeddings=POSITIONS, hidden_size=WIDTH, num_hidden_layers=LAYERS,
                                        num_attention_heads=HEADS, intermediate_size=4 * WIDTH))


def vit():
    return timm.models.VisionTransformer(img_size=32, patch_size=8, num_classes=10, embed_dim=WIDTH, depth=LAYERS, num_heads=HEADS)
