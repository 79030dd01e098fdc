"""Makes the demo models beside this file, gpt2.pt, bert.pt, vit.pt, and those of the lessons (lessons/*.pt, see
lesson_models.py). Needs torch alone.

Small versions of three common layouts, with random weights, traced to TorchScript. Every LayerNorm has a random weight
and bias and every linear a random bias: with the values a fresh network starts from (1 and 0), half of what makes
folding hard does not show. The class names are what the window shows on its groups.

    python resources/models/generate.py [FOLDER]
"""

import dataclasses
import io
import pathlib
import sys
import warnings
import zipfile

import torch
from torch import nn
from torch.nn import functional

import lesson_models


@dataclasses.dataclass
class Size:
    width: int = 64
    heads: int = 4
    layers: int = 4
    tokens: int = 512
    positions: int = 128


class Attention(nn.Module):
    def __init__(self, size, causal):
        super().__init__()
        self.heads, self.causal = size.heads, causal
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.proj = nn.Linear(size.width, size.width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.proj(y.transpose(1, 2).reshape(batch, tokens, width))


class MLP(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.up = nn.Linear(size.width, 4 * size.width)
        self.down = nn.Linear(4 * size.width, size.width)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x)))


class Block(nn.Module):
    """Norm before each branch: GPT-2 and ViT."""

    def __init__(self, size, causal):
        super().__init__()
        self.ln_1 = nn.LayerNorm(size.width)
        self.attn = Attention(size, causal)
        self.ln_2 = nn.LayerNorm(size.width)
        self.mlp = MLP(size)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class PostNormBlock(nn.Module):
    """Norm after each sum: BERT."""

    def __init__(self, size):
        super().__init__()
        self.attn = Attention(size, causal=False)
        self.ln_1 = nn.LayerNorm(size.width)
        self.mlp = MLP(size)
        self.ln_2 = nn.LayerNorm(size.width)

    def forward(self, x):
        x = self.ln_1(x + self.attn(x))
        return self.ln_2(x + self.mlp(x))


class GPT2(nn.Module):
    """The head shares its weight with the token table, as in GPT-2."""

    def __init__(self, size):
        super().__init__()
        self.wte = nn.Embedding(size.tokens, size.width)
        self.wpe = nn.Embedding(size.positions, size.width)
        self.h = nn.ModuleList(Block(size, causal=True) for _ in range(size.layers))
        self.ln_f = nn.LayerNorm(size.width)
        self.lm_head = nn.Linear(size.width, size.tokens, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class Embeddings(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.word = nn.Embedding(size.tokens, size.width)
        self.position = nn.Embedding(size.positions, size.width)
        self.ln = nn.LayerNorm(size.width)

    def forward(self, ids):
        return self.ln(self.word(ids) + self.position(torch.arange(ids.shape[1])))


class Pooler(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.dense = nn.Linear(size.width, size.width)

    def forward(self, x):
        return torch.tanh(self.dense(x[:, 0]))


class BERT(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.embeddings = Embeddings(size)
        self.layer = nn.ModuleList(PostNormBlock(size) for _ in range(size.layers))
        self.pooler = Pooler(size)

    def forward(self, ids):
        x = self.embeddings(ids)
        for block in self.layer:
            x = block(x)
        return x, self.pooler(x)


class PatchEmbed(nn.Module):
    def __init__(self, size, patch):
        super().__init__()
        self.proj = nn.Conv2d(3, size.width, kernel_size=patch, stride=patch)

    def forward(self, image):
        return self.proj(image).flatten(2).transpose(1, 2)


class ViT(nn.Module):
    def __init__(self, size, image=32, patch=8, classes=10):
        super().__init__()
        self.patch_embed = PatchEmbed(size, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, size.width))
        self.pos_embed = nn.Parameter(torch.zeros(1, (image // patch) ** 2 + 1, size.width))
        self.blocks = nn.ModuleList(Block(size, causal=False) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, classes)

    def forward(self, image):
        x = self.patch_embed(image)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


@torch.no_grad()
def randomize(model):
    norm_weights = {id(m.weight) for m in model.modules() if isinstance(m, nn.LayerNorm)}
    for parameter in model.parameters():
        if id(parameter) in norm_weights:
            parameter.normal_(1.0, 0.3)
        elif parameter.dim() >= 2 and parameter.shape[0] > 1:
            parameter.normal_(0.0, 0.15)
        else:
            parameter.normal_(0.0, 0.3)
    return model.eval()


def write_without_debug_records(archive, path):
    """The debug records name the source files on the machine that made the model; nothing reads them here."""
    with zipfile.ZipFile(archive) as source:
        records = {name.partition("/")[2]: source.read(name) for name in source.namelist()}
    writer = torch._C.PyTorchFileWriter(str(path))
    written_by_the_writer = ("version", ".data/version", ".data/serialization_id")
    versions = [int(records[name]) for name in written_by_the_writer[:2] if name in records]
    writer.set_min_version(max(versions))
    for name, record in records.items():
        if not name.endswith(".debug_pkl") and name not in written_by_the_writer:
            writer.write_record(name, record, len(record))
    writer.write_end_of_file()


def save(folder, name, model, example, seed):
    torch.manual_seed(seed)
    torch._C._jit_clear_class_registry()  # class names of one model do not depend on the models before it
    traced = torch.jit.trace(randomize(model), example, check_trace=False)
    archive = io.BytesIO()
    torch.jit.save(traced, archive)
    path = folder / name
    write_without_debug_records(archive, path)
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    warnings.simplefilter("ignore")
    ids = torch.arange(32).view(2, 16)
    save(folder, "gpt2.pt", GPT2(Size()), ids, 1)
    save(folder, "bert.pt", BERT(Size()), ids, 2)
    save(folder, "vit.pt", ViT(Size()), torch.zeros(2, 3, 32, 32), 3)
    (folder / "lessons").mkdir(exist_ok=True)
    for seed, (name, model, example) in enumerate(lesson_models.all_models(), start=4):
        save(folder / "lessons", f"{name}.pt", model, example, seed)


if __name__ == "__main__":
    main()
