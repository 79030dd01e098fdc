"""NormLens's own ops in torch.export archives, by `fold --norm fast` and by `fuse`: torch.export.load reads what is written once
the library is loaded, runs it at the sizes that the original allows, with its numbers, and finds of every value what the file
says; `run_decompositions` and `torch.compile` take it as any program."""

import collections
import itertools
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
from torch import nn
from torch.export import Dim, export, load, save

from exported import WIDTH, Block, Exported, Residual, run_as_told, settled
from samples import MODELS, engine, load_operators, ran

OURS = ("normlens.rms_norm", "normlens.add_rms_norm", "normlens.layer_norm", "normlens.add_layer_norm")


class Chain(nn.Module):
    """The last add of a block feeds the first norm of the next."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 5, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.first(x))))


class Encoder(nn.Module):
    """Norms before their parts, and behind them."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, WIDTH)
        self.pre = nn.TransformerEncoderLayer(WIDTH, 2, 24, batch_first=True, norm_first=True)
        self.post = nn.TransformerEncoderLayer(WIDTH, 2, 24, batch_first=True)

    def forward(self, x):
        return self.post(self.pre(self.first(x)))


class Views(nn.Module):
    """The sum is seen in other sizes before its norm, once and twice."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.mix = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x):
        batch, length, _ = x.shape
        x = self.first(x)
        x = x + self.mix[0](self.norms[0](x))
        x = x.reshape(batch * length, WIDTH)
        x = x + self.mix[1](self.norms[1](x))
        x = x.view(batch, length, WIDTH).reshape(batch * length, WIDTH)
        return x + self.mix[2](self.norms[2](x))


class Rms(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class WrittenOut(nn.Module):
    """RMSNorms in several ops, and a LayerNorm without gamma beside its add."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, WIDTH)
        self.norms = nn.ModuleList(Rms() for _ in range(2))
        self.mix = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x):
        x = self.first(x)
        x = x + self.mix[0](self.norms[0](x))
        x = x + self.mix[1](self.norms[1](x))
        return self.mix[2](nn.functional.layer_norm(x + self.mix[2](x), (WIDTH,)))


class Parts(nn.Module):
    """Adds and norms in a branch, and where no gradients are kept."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, WIDTH)
        self.mix = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))

    def forward(self, x):
        x = self.first(x)
        part = lambda i: lambda x: self.mix[i](self.norms[i](x + self.mix[i](x)))
        x = torch.cond(x.sum() > 0, part(0), part(1), (x,))
        with torch.no_grad():
            return part(2)(x)


def cases():
    generator = torch.Generator().manual_seed(1)
    batch, length = Dim("batch", max=64), Dim("length", min=2, max=64)
    rows = torch.randn(3, 5, 6, generator=generator)
    made = {"residual": (Residual(), torch.randint(0, 11, (3, 5), generator=generator), {0: batch, 1: length})}
    for module in (Chain, Encoder, Views, WrittenOut, Parts):
        made[module.__name__] = (module(), rows, {0: batch, 1: length})
    return made


# How many norms of each take an add in, and how many are written out before. In a branch torch says of no node which module
# it was, nor in any part once the program is decomposed: such a norm would get another name.
FUSED = {"residual": 2, "Chain": 4, "Encoder": 3, "Views": 2, "WrittenOut": 2, "Parts": 1}
JOINED = {"WrittenOut": 2}


def fusable(name, kind):
    return 0 if (name, kind) == ("Parts", "core") else FUSED[name]


def ops(program):
    """How often each operator stands in the program, branches included."""
    graphs = [each.graph for each in program.graph_module.modules() if isinstance(each, torch.fx.GraphModule)]
    targets = [str(node.target) for graph in graphs for node in graph.nodes if node.op == "call_function"]
    return collections.Counter(target.removesuffix(".default").removeprefix("aten.") for target in targets)


class Fast(Exported):
    cases = staticmethod(cases)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        load_operators()

    def written(self, verb, original, *options):
        out = self.path / "out.pt2"
        out.unlink(missing_ok=True)
        result = ran(self, verb, original, "-o", out, *options)
        self.assertIs(result["verify"]["exact"], True, result["verify"])
        return out, result

    def judge(self, name, kind, out):
        """-> how often each of our ops is called"""
        model, sample = self.models[name]
        before, program = load(self.path / f"{name}.{kind}.pt2"), load(out)
        self.assertEqual(str(before.call_spec), str(program.call_spec))
        self.assertEqual(str(before.range_constraints), str(program.range_constraints))
        for inputs in [sample] if kind == "static" else [sample, torch.cat([sample, sample])]:
            self.assertLess(self.gap(model, program.module(), inputs), 2e-5)
            run_as_told(program, inputs)
        return {op: count for op, count in ops(program).items() if op.startswith("normlens.")}

    def norms(self, path):
        analysis = ran(self, "analyze", path)
        self.assertIsNone(analysis["probe_error"])
        return {norm["name"]: norm["verdict"] for norm in analysis["layer_norms"]}

    def each(self, judge):
        for name, kind in itertools.product(self.models, self.KINDS):
            with self.subTest(model=name, kind=kind):
                judge(name, kind, self.path / f"{name}.{kind}.pt2")

    def test_a_fold_takes_the_adds_into_the_norms(self):
        self.each(self.fold_and_judge)

    def fold_and_judge(self, name, kind, original):
        out, result = self.written("fold", original, "--policy", "all", "--norm", "fast")
        called = self.judge(name, kind, out)
        self.assertGreater(result["folded"], 0)
        self.assertEqual(called.get("normlens.rms_norm", 0) + called.get("normlens.add_rms_norm", 0), result["folded"])
        # A norm behind a centering reads no sum.
        if result["centerings"] == 0 and result["folded"] == result["layer_norms"]:
            self.assertEqual(called.get("normlens.add_rms_norm", 0), fusable(name, kind))
        else:
            self.assertNotIn(name, ("Chain", "residual"))

    def test_fuse_folds_nothing(self):
        self.each(self.fuse_and_judge)

    def fuse_and_judge(self, name, kind, original):
        if fusable(name, kind) == 0:
            status, result, errors = engine("fuse", original, "-o", self.path / "never.pt2")
            self.assertEqual((status, result["fused"]), (0, 0), errors)
            return
        out, result = self.written("fuse", original)
        self.assertEqual((result["fused"], result["joined"]), (FUSED[name], JOINED.get(name, 0)))
        called = self.judge(name, kind, out)
        adds = called.get("normlens.add_rms_norm", 0) + called.get("normlens.add_layer_norm", 0)
        self.assertEqual(adds, result["fused"])
        self.assertEqual(self.norms(out), self.norms(original))

    def test_what_was_fused_folds_as_the_original(self):
        self.each(self.fuse_and_fold)

    def fuse_and_fold(self, name, kind, original):
        if fusable(name, kind) == 0:
            return
        fused, _ = self.written("fuse", original)
        fused = fused.rename(self.path / "fused.pt2")
        for norm in ("portable", "fast"):
            _, expected = self.written("fold", original, "--policy", "all", "--norm", norm)
            out, result = self.written("fold", fused, "--policy", "all", "--norm", norm)
            for count in ("folded", "centerings"):
                self.assertEqual(result[count], expected[count])
            self.judge(name, kind, out)

    def test_what_is_written_is_a_program_for_torch(self):
        model, sample = self.models["Chain"]
        longer = torch.cat([sample, sample])
        for verb, options in (("fold", ("--norm", "fast")), ("fuse", ())):
            with self.subTest(verb=verb):
                out, _ = self.written(verb, self.path / "Chain.dynamic.pt2", *options)
                program = load(out)
                again = self.path / "again.pt2"
                save(program.run_decompositions(), again)
                for made in (load(again).module(), torch.compile(program.module(), backend="aot_eager")):
                    for inputs in (sample, longer):
                        self.assertLess(self.gap(model, made, inputs), 2e-5)
                self.assertEqual(set(ops(load(again))) & set(OURS), set(ops(program)) & set(OURS))

    def test_half_precision(self):
        model = settled(Chain()).to(torch.bfloat16)
        sample = torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
        original = self.path / "half.pt2"
        save(export(model, (sample,)), original)
        for verb, options in (("fold", ("--norm", "fast")), ("fuse", ())):
            with self.subTest(verb=verb):
                out, _ = self.written(verb, original, *options)
                self.assertLess(self.gap(model, load(out).module(), sample), 3e-2)
                run_as_told(load(out), sample)

    def test_torchscript_of_a_fast_fold(self):
        model, sample = self.models["Chain"]
        out = self.path / "fast.pt"
        ran(self, "fold", self.path / "Chain.dynamic.pt2", "-o", out, "--norm", "fast")
        self.assertLess(self.gap(model, torch.jit.load(str(out)), torch.cat([sample, sample])), 2e-5)

    def test_bench_runs_it(self):
        original = self.path / "Chain.dynamic.pt2"
        out, _ = self.written("fold", original, "--norm", "fast")
        ran(self, "bench", original, out, "--rounds", 2, "--iterations", 2, "--warmup", 1)
        ran(self, "diff", original, out)

    def test_without_the_library_torch_says_what_it_lacks(self):
        out, _ = self.written("fold", self.path / "Chain.static.pt2", "--norm", "fast")
        code = f"import torch; torch.export.load({str(out)!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("normlens", done.stderr)


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class Samples(unittest.TestCase):
    def test_each_is_fused(self):
        fused = 0
        for path in sorted((MODELS / "pt2").glob("*.pt2")):
            with self.subTest(path.stem), tempfile.TemporaryDirectory() as folder:
                result = ran(self, "fuse", path, "-o", pathlib.Path(folder) / "out.pt2")
                if result["fused"] + result["joined"] > 0:
                    self.assertIs(result["verify"]["exact"], True, result["verify"])
                    fused += result["fused"]
        self.assertGreater(fused, 20)
