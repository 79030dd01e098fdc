"""torch.export archives with operators that LibTorch does not have: torch's quantisation runs and is proved, others are
shown and analysed; and results that the file names."""

import json
import pathlib
import tempfile
import unittest
import zipfile

import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed
from torch import nn
from torch._higher_order_ops.map import map as each_row
from torch.export import Dim, export, load, save

from exported import WIDTH, settled
from samples import MODELS, ran


@torch.library.custom_op("normlens_test::mix", mutates_args=())
def mix(x: torch.Tensor, scale: float, axes: list[int], gate: torch.Tensor | None = None) -> torch.Tensor:
    return x.cumsum(axes[0]) * scale


@mix.register_fake
def _(x, scale, axes, gate=None):
    return torch.empty_like(x)


@torch.library.custom_op("normlens_test::halves", mutates_args=())
def halves(x: torch.Tensor) -> list[torch.Tensor]:
    return [half.clone() for half in x.chunk(2, -1)]


@halves.register_fake
def _(x):
    return [torch.empty_like(half) for half in x.chunk(2, -1)]


@torch.library.custom_op("normlens_test::fill", mutates_args=("x",))
def fill(x: torch.Tensor) -> None:
    x.add_(1.0)


@fill.register_fake
def _(x):
    return None


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)


class Custom(Norms):
    def forward(self, x):
        mixed = torch.ops.normlens_test.mix(self.before(self.first(x)), 0.5, [-1])
        left, right = torch.ops.normlens_test.halves(mixed)
        return self.after(mixed) + torch.cat([right, left], -1)


class Written(Norms):
    """The operator gives nothing: it writes what the norm reads."""

    def forward(self, x):
        x = self.first(x).clone()
        torch.ops.normlens_test.fill(x)
        return self.before(x)


class Mapped(Norms):
    def forward(self, x):
        return self.after(each_row(lambda row: self.before(self.first(row)), x))


class Masked(Norms):
    """Decomposed, the 1 is a number where the operator has its first tensor."""

    def forward(self, x, mask):
        return self.before(self.first(x)) * (1 - mask) + (0.5 - mask)


class Shifted(Norms):
    """The 1 is centered with what the norm reads; the other numbers stay."""

    def forward(self, x, mask):
        return self.before(1 - self.first(x) * (1 - mask)) + (0.1 - mask)


class Alone(Norms):
    """The other operand is one number as well, of a type that a float32 beside it would widen."""

    def forward(self, x, mask):
        return self.before(self.first(x)) + self.first((1 - mask.sum()).expand(x.shape))


class Told(Norms):
    def forward(self, x):
        x = self.first(x)
        return {"last": self.after(x), "first": self.before(x)}


def quantize(x, scales, low=-128, high=127, dtype=torch.int8):
    """Through integers and back, each operator of the two kinds in the forms that torch's quantisers write."""
    ops = torch.ops.quantized_decomposed
    x = ops.quantize_per_tensor(x, 0.02, 3, low, high, dtype)
    x = ops.dequantize_per_tensor(x, 0.02, 3, low, high, dtype)
    x = ops.quantize_per_tensor.tensor(x, scales[0], torch.tensor(2), low, high, dtype)
    return ops.dequantize_per_tensor.tensor(x, scales[0], torch.tensor(2), low, high, dtype)


class Quantised(nn.Module):
    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.dtype = dtype
        self.embed = nn.Embedding(11, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.back = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))
        generator = torch.Generator().manual_seed(4)
        self.register_buffer("w", torch.randint(-127, 128, (WIDTH, WIDTH), dtype=torch.int8, generator=generator))
        self.register_buffer("s", 0.01 + 0.01 * torch.rand(WIDTH, generator=generator))
        self.register_buffer("z", torch.randint(-3, 4, (WIDTH,), generator=generator))

    def forward(self, ids):
        ops = torch.ops.quantized_decomposed
        x = self.embed(ids)
        for norm, back in zip(self.norms, self.back):
            h = quantize(norm(x), self.s).to(self.dtype)
            w = ops.dequantize_per_channel(self.w, self.s, self.z, 0, -127, 127, torch.int8, out_dtype=self.dtype)
            h = torch.relu(nn.functional.linear(h, w))
            h = ops.quantize_per_channel(h, self.s, self.z, 2, 0, 255, torch.uint8)
            h = ops.dequantize_per_channel(h, self.s, None, 2, 0, 255, torch.uint8, out_dtype=self.dtype)
            x = x + back(h)
        return {"last": self.norms[2](x), "hidden": h}


def nodes(path):
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/models/model.json"))
        return json.loads(archive.read(name))["graph_module"]["graph"]["nodes"]


def targets(path):
    return [node["target"].removeprefix("torch.ops.") for node in nodes(path)]


def numbers(path):
    """What is subtracted from, where it is no tensor."""
    first = [node["inputs"][0]["arg"] for node in nodes(path) if node["target"] == "torch.ops.aten.sub.Tensor"]
    return [number for number in first if "as_tensor" not in number]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        torch.manual_seed(0)

    def saved(self, name, exported):
        path = self.path / f"{name}.pt2"
        save(exported, path)
        return path


class Opaque(Case):
    def verdicts(self, path):
        result = ran(self, "analyze", path)
        self.assertIsNone(result["probe_error"])
        return {norm["name"]: norm for norm in result["layer_norms"]}

    def refused(self, path, name):
        out = self.path / "out.pt2"
        for options in ((), ("--no-verify",), ("--force",)):
            result = ran(self, "fold", path, "-o", out, "--policy", "all", *options, expected=3)
            self.assertIn(f"uses the operator {name}, which this engine does not run", result["error"]["message"])
            self.assertEqual(result["error"]["hint"], "export it without that operator")
            self.assertFalse(out.exists())

    def test_a_custom_operator_is_where_a_zero_mean_ends(self):
        sample = torch.randn(3, 5, WIDTH)
        dynamic = ({0: Dim("batch", min=2, max=64), 1: Dim("length", min=2, max=64)},)
        path = self.saved("custom", export(settled(Custom()), (sample,), dynamic_shapes=dynamic))
        norms = self.verdicts(path)
        self.assertEqual(norms["before"]["verdict"], "free")
        self.assertEqual(norms["after"]["verdict"], "blocked")
        self.assertIn("comes from mix", norms["after"]["reason"])
        self.assertEqual({norm["state"] for norm in norms.values()}, {"kept"})
        self.assertIn("this engine does not run normlens_test::mix", norms["before"]["because"])
        self.refused(path, "normlens_test::mix")
        result = ran(self, "diff", path, path, expected=3)
        self.assertIn("normlens_test::mix", result["error"]["message"])

    def test_an_operator_that_gives_nothing_has_written(self):
        path = self.saved("written", export(settled(Written()), (torch.randn(3, WIDTH),)))
        self.assertEqual(self.verdicts(path)["before"]["verdict"], "blocked")
        core = self.saved("core", export(settled(Written()), (torch.randn(3, WIDTH),)).run_decompositions())
        norm = self.verdicts(core)["before"]
        self.assertEqual(norm["verdict"], "blocked")
        self.assertIn("comes from auto_functionalized_v2", norm["reason"])

    def test_an_operator_that_takes_graphs_is_shown_as_one(self):
        path = self.saved("mapped", export(settled(Mapped()), (torch.randn(3, 4, WIDTH),)))
        norms = self.verdicts(path)
        self.assertEqual(list(norms), ["after"])
        self.assertIn("comes from map_impl", norms["after"]["reason"])
        self.refused(path, "higher_order::map_impl")


class Numbers(Case):
    def test_a_number_in_a_tensors_place(self):
        for name, mask in (("float", torch.rand(3, 5, 1)), ("int", torch.randint(0, 2, (3, 5, 1)))):
            model, x = settled(Masked()), torch.randn(3, 5, WIDTH)
            path = self.saved(name, export(model, (x, mask)).run_decompositions())
            self.assertIn("aten.sub.Tensor", targets(path))
            norm, = ran(self, "analyze", path)["layer_norms"]
            self.assertEqual(norm["verdict"], "free")
            self.assertEqual(self.folded(path, model, (x, mask)), numbers(path))

    def folded(self, path, model, inputs):
        """The numbers of the folded file, which is right."""
        out = path.with_suffix(".folded.pt2")
        result = ran(self, "fold", path, "-o", out)
        self.assertEqual((result["folded"], result["verify"]["exact"]), (1, True), result)
        with torch.no_grad():
            torch.testing.assert_close(load(out).module()(*inputs), model(*inputs), rtol=1e-4, atol=1e-5)
        return numbers(out)

    def test_a_number_beside_one_number(self):
        model = settled(Alone()).to(torch.bfloat16)
        inputs = (torch.randn(3, 5, WIDTH).to(torch.bfloat16), torch.rand(3, 5, 1).to(torch.bfloat16))
        path = self.saved("alone", export(model, inputs).run_decompositions())
        ran(self, "diff", path, path)

    def test_a_number_that_is_centered(self):
        model, inputs = settled(Shifted()), (torch.randn(3, 5, WIDTH), torch.rand(3, 5, 1))
        path = self.saved("shifted", export(model, inputs).run_decompositions())
        self.assertEqual(numbers(path), [{"as_int": 1}, {"as_int": 1}, {"as_float": 0.1}])
        self.assertEqual(self.folded(path, model, inputs), [{"as_int": 1}, {"as_float": 0.0}, {"as_float": 0.1}])


class Narrowing(Norms):
    def forward(self, x):
        return self.after(self.before(self.first(x)) * torch.sigmoid(x.float()))


class Twins(Case):
    def test_a_float64_program_that_names_float32(self):
        path = self.saved("narrowing", export(settled(Narrowing()).double(), (torch.randn(3, WIDTH).double(),)))
        result = ran(self, "fold", path, "-o", self.path / "narrowing_out.pt2")
        self.assertEqual((result["folded"], result["verify"]["exact"]), (1, True), result["verify"])


class Quantisation(Case):
    def exported(self, name, model):
        model = settled(model)
        ids = torch.randint(0, 11, (3, 5), generator=torch.Generator().manual_seed(1))
        dynamic = ({0: Dim("batch", max=64), 1: Dim("length", min=2, max=64)},)
        return model, ids, self.saved(name, export(model, (ids,), dynamic_shapes=dynamic))

    def test_it_runs_as_in_python(self):
        for name, model in (("float", Quantised()), ("bfloat16", Quantised(torch.bfloat16).to(torch.bfloat16))):
            with self.subTest(name):
                model, ids, path = self.exported(name, model)
                out = self.path / f"{name}.pt"
                ran(self, "fold", path, "-o", out, "--policy", "free", "--force")
                with torch.no_grad():
                    expected, got = model(ids), torch.jit.load(str(out))(ids)
                close = 1e-5 if name == "float" else 3e-2
                for each, other in zip(expected.values(), got):
                    near = (each - other).abs() <= close * each.abs().max()
                    self.assertGreater(near.float().mean().item(), 0.95)  # a step of the integers is another one

    def test_a_fold_is_proved_and_keeps_the_operators(self):
        model, ids, path = self.exported("proved", Quantised())
        out = self.path / "folded.pt2"
        result = ran(self, "fold", path, "-o", out, "--policy", "free")
        self.assertEqual(result["folded"], 3, result)
        self.assertIs(result["verify"]["exact"], True, result["verify"])
        self.assertLess(result["verify"]["algebra"]["max_rel"], 1e-10)
        kept = lambda file: [target for target in targets(file) if target.startswith("quantized_decomposed.")]
        self.assertEqual(kept(out), kept(path))
        self.assertNotIn("aten.layer_norm.default", targets(out))
        loaded = load(out).module()
        for inputs in (ids, torch.cat([ids, ids])):
            with torch.no_grad():
                expected, got = model(inputs), loaded(inputs)
            for name in expected:
                near = (expected[name] - got[name]).abs() <= 2e-5 * expected[name].abs().max()
                self.assertGreater(near.float().mean().item(), 0.95)

    def test_the_sample_is_opened(self):
        result = ran(self, "analyze", MODELS / "pt2" / "quant_qdq.pt2")
        self.assertIsNone(result["probe_error"])


class Names(Case):
    def test_results_are_called_as_the_file_calls_them(self):
        model, ids, path = Quantisation.exported(self, "named", Quantised())
        result = ran(self, "diff", path, path)
        self.assertEqual([row["name"] for row in result["outputs"]], ["last", "hidden"])

    def test_so_are_those_of_a_dict_of_torchscript(self):
        path = self.path / "dict.pt"
        torch.jit.script(settled(Told())).save(str(path))
        result = ran(self, "diff", path, path, "--input", f"in_0=float32[3,{WIDTH}]")
        self.assertEqual([row["name"] for row in result["outputs"]], ["last", "first"])

    def test_so_are_those_of_transformers(self):
        path = MODELS / "pt2" / "gpt2_hf_output.pt2"
        result = ran(self, "diff", path, path)
        self.assertEqual(result["outputs"][0]["name"], "logits")
