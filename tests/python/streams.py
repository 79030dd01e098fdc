"""A small module with a residual stream, and inputs for it."""

import torch
from torch import nn

WIDTH = 16


class Stream(nn.Module):
    """A residual stream: embedding, two blocks, a last norm, a head."""

    def __init__(self, tied=False, bias=True, affine=True, drop=0.0):
        super().__init__()
        self.embed = nn.Embedding(11, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH, elementwise_affine=affine) for _ in range(3))
        self.mix = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 24, bias=bias), nn.GELU(), nn.Linear(24, WIDTH, bias=bias)) for _ in range(2)
        )
        self.drop = nn.Dropout(drop)
        self.head = nn.Linear(WIDTH, 11, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids)
        for norm, mix in zip(self.norms, self.mix):
            x = x + self.drop(mix(norm(x)))
        return self.head(self.norms[2](x))


IDS = torch.randint(0, 11, (3, 5), generator=torch.Generator().manual_seed(1))
X = torch.randn(3, 5, WIDTH, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
