"""fold --gamma fold: the weights of RMSNorms, old and new, in the linear layers behind them."""

import pathlib
import tempfile
import unittest
import warnings

import onnx
import torch
from samples import engine, load_operators
from sessions import LEVELS, outputs
from torch import nn

WIDTH = 8


class Gated(nn.Module):
    """As LLaMA has it: one norm read by two linears without biases, a norm before the head, a table beside it."""

    def __init__(self, tied: bool):
        super().__init__()
        self.table, self.norm, self.last = nn.Embedding(12, WIDTH), nn.RMSNorm(WIDTH, eps=1e-6), nn.RMSNorm(WIDTH, eps=1e-6)
        self.gate, self.up = nn.Linear(WIDTH, 16, bias=False), nn.Linear(WIDTH, 16, bias=False)
        self.down, self.head = nn.Linear(16, WIDTH, bias=False), nn.Linear(WIDTH, 12, bias=False)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, ids: torch.Tensor):
        x = self.table(ids)
        y = self.norm(x)
        x = x + self.down(torch.sigmoid(self.gate(y)) * self.up(y))
        return self.head(self.last(x))


class Written(nn.Module):
    """As transformers writes it: float32 inside, the weight behind it."""

    def __init__(self):
        super().__init__()
        self.weight, self.up = nn.Parameter(torch.ones(WIDTH)), nn.Linear(WIDTH, 6)

    def forward(self, x: torch.Tensor):
        y = x.to(torch.float32)
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.up(self.weight * y.to(x.dtype))


class Folded(nn.Module):
    """A LayerNorm that folds: its beta goes into the biases first, by the weights as they were."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.up = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 6)

    def forward(self, x: torch.Tensor):
        return self.up(self.norm(self.first(x)))


def made(module: nn.Module, dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(3)
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape)
    return module.to(dtype).eval()


def write(module: nn.Module, x: torch.Tensor, path: pathlib.Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if path.suffix == ".pt":
            torch.jit.script(module).save(str(path))
        elif path.suffix == ".pt2":
            torch.export.save(torch.export.export(module, (x,)), str(path))
        else:
            torch.onnx.export(module, (x,), str(path), dynamo=True, opset_version=18, input_names=["x"], verbose=False, external_data=False)


def run(path: pathlib.Path, x: torch.Tensor) -> torch.Tensor:
    if path.suffix == ".onnx":
        return torch.from_numpy(outputs(path, LEVELS[-1], [x.numpy()])[0])
    return torch.jit.load(str(path))(x) if path.suffix == ".pt" else torch.export.load(str(path)).module()(x)


class Weightless(unittest.TestCase):
    def setUp(self):
        load_operators()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def folded(self, module, x, suffix, *options):
        model, out = (pathlib.Path(self.folder.name) / f"{name}{suffix}" for name in "mo")
        out.unlink(missing_ok=True)
        write(module, x, model)
        status, answer, errors = engine("fold", model, "-o", out, "--gamma", "fold", *options)
        self.assertEqual((status, answer["verify"]["exact"]), (0, True), (suffix, options, errors))
        expected, got = run(model, x).double(), run(out, x).double()
        self.assertLess((expected - got).abs().max() / expected.abs().max(), 4e-6)
        return answer, out

    def test_of_a_norm_that_is_written_out(self):
        class Nodes(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.weight, self.up = nn.Linear(WIDTH, WIDTH), nn.Parameter(torch.ones(WIDTH)), nn.Linear(WIDTH, 6)

            def forward(self, x: torch.Tensor):
                y = self.first(x)
                y = y - y.mean(-1, keepdim=True)
                return self.up(y / torch.sqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight)

        for norm in ("fast", "ort", "standard", "portable"):
            with self.subTest(norm):
                answer, _ = self.folded(made(Nodes()), torch.randn(2, 3, WIDTH), ".onnx", "--norm", norm)
                self.assertEqual((answer["folded"], answer["gains_absorbed"]), (1, 1))

    def test_of_a_model_without_layer_norms(self):
        ids = torch.arange(6).view(2, 3)
        for suffix in (".pt", ".pt2", ".onnx"):
            for tied, moved in ((False, 2), (True, 1)):
                with self.subTest(suffix=suffix, tied=tied):
                    answer, _ = self.folded(made(Gated(tied)), ids, suffix)
                    if suffix == ".onnx":  # the exporter writes a tied weight twice
                        moved = 2
                    self.assertEqual((answer["gains_absorbed"], answer["folded"], answer["bytes_grown"]), (moved, 0, 0))

    def test_of_norms_that_are_written_out(self):
        x = torch.randn(2, 3, WIDTH)
        for suffix in (".pt", ".pt2", ".onnx"):
            with self.subTest(suffix):
                self.assertEqual(self.folded(made(Written()), x, suffix)[0]["gains_absorbed"], 1)
        for dtype in (torch.bfloat16, torch.float16):
            model, out = (pathlib.Path(self.folder.name) / f"{name}.pt2" for name in "hg")
            write(made(Written(), dtype), x.to(dtype), model)
            status, answer, errors = engine("fold", model, "-o", out, "--gamma", "fold")
            self.assertEqual((status, answer["gains_absorbed"]), (0, 1), errors)

    def test_of_norms_that_fold(self):
        x = torch.randn(2, 3, WIDTH)
        for suffix, norms in ((".pt", ("portable", "primitives", "fast")), (".pt2", ("portable", "primitives", "fast")),
                              (".onnx", ("portable", "primitives", "standard", "ort"))):
            for norm in norms:
                with self.subTest(suffix=suffix, norm=norm):
                    answer, out = self.folded(made(Folded()), x, suffix, "--norm", norm)
                    counts = (answer["folded"], answer["shifts_absorbed"], answer["gains_absorbed"])
                    self.assertEqual(counts, (1, 1, 1))
                    if suffix == ".onnx" and norm in ("portable", "primitives"):  # no weight is left
                        self.assertNotIn("Mul", [node.op_type for node in onnx.load(out).graph.node])

    def test_verdicts(self):
        model = pathlib.Path(self.folder.name) / "m.pt2"
        write(made(Gated(True)), torch.arange(6).view(2, 3), model)
        norms = engine("analyze", model)[1]["other_norms"]
        self.assertEqual([norm["weightless"] for norm in norms], ["free", "blocked"])
        self.assertIn("2 linear layers", norms[0]["weightless_reason"])
        self.assertIn("is read elsewhere, too", norms[1]["weightless_reason"])

    def test_a_plan_in_a_file_is_carried_out(self):
        model, plan, out = (pathlib.Path(self.folder.name) / name for name in ("m.onnx", "plan.json", "o.onnx"))
        write(made(Gated(False)), torch.arange(6).view(2, 3), model)
        self.assertEqual(engine("fold", model, "-o", out, "--gamma", "fold", "--save-plan", plan)[0], 0)
        expected = out.read_bytes()
        status, answer, errors = engine("fold", model, "-o", out, "--plan", plan)
        self.assertEqual((status, answer["gains_absorbed"], out.read_bytes()), (0, 2, expected), errors)

    def test_without_a_weight_that_can_move_nothing_is_written(self):
        model, out = (pathlib.Path(self.folder.name) / f"{name}.pt2" for name in "mo")
        write(made(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.RMSNorm(WIDTH))), torch.randn(2, WIDTH), model)
        _, answer, _ = engine("fold", model, "-o", out, "--gamma", "fold")
        self.assertIn("no RMSNorm whose weight can move", answer["reason"])
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
