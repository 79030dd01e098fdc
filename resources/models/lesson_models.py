"""The small models that lessons open: one for each thing to be seen."""

import torch
from torch import nn
from torch.nn import functional

WIDTH, TOKENS, POSITIONS = 32, 64, 16


class Branch(nn.Module):
    """A branch whose last layer can be centered."""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x)))


class Kinds(nn.Module):
    """Lesson 3: every kind of layer that can be centered, each with a LayerNorm of its own behind it."""

    def __init__(self, groups=4, heads=4):
        super().__init__()
        self.groups, self.heads = groups, heads
        self.table = nn.Embedding(TOKENS, WIDTH)
        self.table_norm = nn.LayerNorm(WIDTH)
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.linear_norm = nn.LayerNorm(WIDTH)
        self.conv = nn.Conv1d(WIDTH, WIDTH, kernel_size=3, padding=1)
        self.conv_norm = nn.LayerNorm(WIDTH)
        self.grouped = nn.Conv1d(WIDTH, WIDTH, kernel_size=3, padding=1, groups=groups)
        self.grouped_norm = nn.LayerNorm(WIDTH // groups)
        self.qkv = nn.Linear(WIDTH, 2 * WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.gates = nn.Linear(WIDTH, 4 * WIDTH)
        self.gate_norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 4)

    def forward(self, ids):
        x = self.table_norm(self.table(ids))
        x = functional.gelu(self.linear_norm(self.linear(x)))
        x = functional.gelu(self.conv_norm(self.conv(x.transpose(1, 2)).transpose(1, 2)))
        y = self.grouped(x.transpose(1, 2)).transpose(1, 2).unflatten(-1, (self.groups, -1))
        x = functional.gelu(self.grouped_norm(y).flatten(-2))
        q, k = self.qkv(x).chunk(2, dim=-1)
        attention = torch.softmax(q @ k.transpose(1, 2) / WIDTH**0.5, dim=-1)
        x = functional.gelu(self.attention_norm(attention @ self.value(x)))
        i, f, g, o = self.gates(x).chunk(4, dim=-1)
        cell = torch.sigmoid(self.gate_norm(f)) * x + torch.sigmoid(self.gate_norm(i)) * torch.tanh(self.gate_norm(g))
        return self.head(torch.sigmoid(self.gate_norm(o)) * torch.tanh(cell))


class Mixer(nn.Module):
    """Lesson 4: values that no weight can center. One is read by five norms, one by two, one by one; the last norm of the
    stream waits for two of them."""

    def __init__(self, blocks=4):
        super().__init__()
        self.patch = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(blocks))
        self.branch = nn.ModuleList(Branch() for _ in range(blocks))
        self.gate = nn.Linear(WIDTH, WIDTH)
        self.gate_norm = nn.LayerNorm(WIDTH)
        self.gate_branch = Branch()
        self.joined_norm = nn.LayerNorm(WIDTH)
        self.side = nn.Linear(WIDTH, WIDTH)
        self.side_norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 8)

    def forward(self, x):
        stream = functional.gelu(self.patch(x))
        for norm, branch in zip(self.norm, self.branch):
            stream = stream + branch(norm(stream))
        gated = torch.tanh(self.gate(x))
        gated = gated + self.gate_branch(self.gate_norm(gated))
        side = self.side_norm(torch.maximum(self.side(x), x))
        return self.head(self.joined_norm(stream + gated) + side)


class PostNorm(nn.Module):
    """Lesson 7: what a LayerNorm with unequal gamma hands on has a mean again."""

    def __init__(self, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        self.embedding_norm = nn.LayerNorm(WIDTH)
        self.branch = nn.ModuleList(Branch() for _ in range(layers))
        self.norm = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(layers))
        self.head = nn.Linear(WIDTH, 8)

    def forward(self, ids):
        x = self.embedding_norm(self.embedding(ids))
        for branch, norm in zip(self.branch, self.norm):
            x = norm(x + branch(x))
        return self.head(x)


class OverSpace(nn.Module):
    """Lesson 7: the mean of one channel over an image, as GroupNorm with one channel a group takes it."""

    def __init__(self, channels=8, side=8):
        super().__init__()
        self.conv = nn.Conv2d(3, channels, kernel_size=3, padding=1)
        self.norm = nn.LayerNorm((side, side))
        self.head = nn.Linear(channels * side * side, 8)

    def forward(self, image):
        return self.head(functional.gelu(self.norm(self.conv(image))).flatten(1))


class Concatenated(nn.Module):
    """Lesson 7: half of the channels could be centered, the other half comes out of a nonlinearity."""

    def __init__(self):
        super().__init__()
        self.left = nn.Linear(WIDTH, WIDTH // 2)
        self.right = nn.Linear(WIDTH, WIDTH // 2)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 8)

    def forward(self, x):
        return self.head(self.norm(torch.cat([self.left(x), functional.relu(self.right(x))], dim=-1)))


class Depthwise(nn.Module):
    """Lesson 7: a ConvNeXt block: each channel has a kernel of its own, and none sees another."""

    def __init__(self, channels=16):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, kernel_size=2, stride=2)
        self.depthwise = nn.Conv2d(channels, channels, kernel_size=5, padding=2, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.branch = Branch(channels)

    def forward(self, image):
        x = self.stem(image)
        y = self.branch(self.norm(self.depthwise(x).permute(0, 2, 3, 1)))
        return (x + y.permute(0, 3, 1, 2)).mean(dim=(2, 3))


class HiddenStates(nn.Module):
    """Lesson 7: the stream itself is a result: whoever reads it would see another one."""

    def __init__(self, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        self.norm = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(layers))
        self.branch = nn.ModuleList(Branch() for _ in range(layers))
        self.last = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 8)

    def forward(self, ids):
        x = self.embedding(ids)
        states = [x]
        for norm, branch in zip(self.norm, self.branch):
            x = x + branch(norm(x))
            states.append(x)
        return self.head(self.last(x)), *states


def all_models():
    ids = torch.arange(2 * POSITIONS).view(2, POSITIONS)
    rows = torch.zeros(2, POSITIONS, WIDTH)
    return [
        ("kinds", Kinds(), ids),
        ("mixer", Mixer(), rows),
        ("post_norm", PostNorm(), ids),
        ("over_space", OverSpace(), torch.zeros(2, 3, 8, 8)),
        ("concatenated", Concatenated(), rows),
        ("depthwise", Depthwise(), torch.zeros(2, 3, 16, 16)),
        ("hidden_states", HiddenStates(), ids),
    ]
