"""What has size 1 in the sample is relied on only where the file fixes it, or a run bears it out.

Each model scales, masks or normalises by something whose size only the inputs say. What is written is compared with the
original on inputs of other sizes, in float64; a norm that folds under a condition says so.
"""

import pathlib
import tempfile
import unittest

import numpy
import torch
import torch.nn.functional as F
from torch import Tensor

from samples import engine

WIDTH = 8


class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, WIDTH)
        self.second = torch.nn.Linear(WIDTH, WIDTH)
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.head = torch.nn.Linear(WIDTH, 4)


class CutByANumber(Base):
    def forward(self, x: Tensor, n: int):
        return self.head(self.norm(self.first(x) * x[..., :n]))


class MeanOverAGivenAxis(Base):
    def forward(self, x: Tensor, axis: int):
        return self.head(self.norm(self.first(x) * x.mean(axis, keepdim=True)))


class MaskOfANumber(Base):
    def forward(self, x: Tensor, n: int):
        return self.head(self.norm(self.first(x).masked_fill(x[..., :n] > 0, 0.0)))


class NormOverSoManyAxes(Base):
    def forward(self, x: Tensor, k: int):
        return self.head(F.layer_norm(self.first(x), x.shape[-k:]))


class Offset(Base):
    """Infinite where the offset is 0: the original is NaN there, its fold is not."""

    def forward(self, x: Tensor, offset: Tensor):
        return self.head(self.norm(self.first(x) + offset.mean(-1, keepdim=True).square().log()))


class Gate(Base):
    def forward(self, x: Tensor, gate: Tensor):
        return self.head(self.norm(self.first(x) * gate))


class ProductOfInputs(Base):
    def forward(self, x: Tensor, keys: Tensor):
        return self.head(self.norm(self.first(x) * (x @ keys.transpose(1, 2))))


class GateByBatch(Base):
    def forward(self, x: Tensor):
        return self.head(self.norm(self.first(x) * (torch.arange(x.size(0)) + 1.0)))


class GateByTokens(Base):
    def forward(self, x: Tensor):
        return self.head(self.norm(self.first(x) * (x @ x.transpose(1, 2)).softmax(-1)))


class GateOfAWeightsCorner(Base):
    def forward(self, x: Tensor):
        return self.head(self.norm(self.first(x) * self.second.weight[: x.size(1), : x.size(1)]))


class MeanOfTokens(Base):
    """Without channels the mean over the tokens is one number for all channels."""

    def forward(self, x: Tensor, y: Tensor):
        return self.head(self.norm(self.first(y) + x.mean(1, keepdim=True)))


class FixedGate(Base):
    """The gate has size 1 in every run: no condition."""

    def forward(self, x: Tensor, gate: Tensor):
        return self.head(self.norm(self.first(x) * gate.unsqueeze(-1)))


class GateThatMustBeOne(Base):
    def forward(self, x: Tensor, gate: Tensor):
        assert gate.size(-1) == 1, "one number for each token"
        return self.head(self.norm(self.first(x) * gate))


class Squeezed(Base):
    """At one token the addend has no axis of tokens, and widens the stream: it is not left out."""

    def forward(self, x: Tensor):
        return self.head(self.norm(self.first(x) + x[:, :, :1].squeeze().unsqueeze(-1)))


class MaskAtTheEnd(torch.nn.Module):
    """Four norms in the stream, and one beside it that hangs on the mask."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, WIDTH)
        self.parts = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH) for _ in range(3)])
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(WIDTH) for _ in range(3)])
        self.beside = torch.nn.Linear(WIDTH, WIDTH)
        self.last = torch.nn.LayerNorm(WIDTH)
        self.head = torch.nn.Linear(WIDTH, 4)

    def forward(self, x: Tensor, mask: Tensor):
        y = self.first(x)
        for part, norm in zip(self.parts, self.norms):
            y = y + part(norm(y).relu())
        return self.head(self.norms[0](y)) + self.head(self.last(self.beside(x) * mask))


class RowsByChance(Base):
    """Rows of 8 are whole where there are 4 tokens, and in no other run."""

    def forward(self, x: Tensor):
        rows = self.first(x).reshape(2, 4, -1)
        return F.layer_norm(rows, rows.shape[-1:]).sin()


def centered(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


class CutOfRepeated(torch.nn.Module):
    """Centered over all that is there: the first 12 are all of it in the sample alone."""

    def __init__(self):
        super().__init__()
        self.norm, self.head = torch.nn.LayerNorm(12), torch.nn.Linear(12, 4)

    def forward(self, x: Tensor):
        return self.head(self.norm(centered(torch.cat([x, x], -1))[..., :12]))


class RowsOfRepeated(CutOfRepeated):
    def forward(self, x: Tensor):
        return self.head(self.norm(centered(torch.cat([x, x], -1)).reshape(-1, 12)))


class BehindACut(Base):
    """Of an input that is shorter the cut is shorter, and what stands behind it elsewhere."""

    def forward(self, x: Tensor, u: Tensor):
        both = torch.cat([x[..., :6], self.first(u), self.second(u)], -1)
        return self.head(self.norm(both[..., 6 : 6 + 8]))


class RowsOfACut(CutOfRepeated):
    def forward(self, x: Tensor):
        return self.head(self.norm(centered(x[..., :6]).reshape(-1, 12)))


class BehindAnInput(Base):
    def forward(self, x: Tensor, u: Tensor):
        return self.head(self.norm(torch.cat([x, self.first(u), self.second(u)], -1)[..., 6 : 6 + 8]))


class ReadBehindAnInput(Base):
    """What the norm reads is read elsewhere as well, where it stands among the first six."""

    def forward(self, x: Tensor, u: Tensor):
        y = self.first(u)
        read = torch.cat([x, y], -1)[..., :6].relu()
        return self.head(self.norm(y)) + read.sum(-1, keepdim=True)


class PartOfASplit(Base):
    """A part of one size is smaller where less is left."""

    def forward(self, x: Tensor, u: Tensor):
        parts = torch.split(x, 4, -1)
        both = torch.cat([parts[1], self.first(u), self.second(u)], -1)
        return self.head(self.norm(both[..., 4 : 4 + 8]))


class ScatteredAsFarAsAnInput(Base):
    def forward(self, x: Tensor, wide: Tensor, rows: Tensor):
        index = rows.unsqueeze(-1).expand(rows.size(0), rows.size(1), wide.size(-1))
        return self.head(self.norm(self.first(x).scatter(1, index, self.first(x[:, :2]))))


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64)


class Sizes(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_on(self, verb, made, sample, *options):
        """(status, result) of the verb; the model is kept as self.model."""
        for parameter in made.parameters():
            parameter.data = torch.randn(parameter.shape) * 0.7 + 0.3
        self.model = torch.jit.script(made.double().eval())
        self.model.save(self.folder / "model.pt")
        arrays = {f"in_{i}": numpy.asarray(value) for i, value in enumerate(sample)}
        numpy.savez(self.folder / "inputs.npz", **arrays)
        folding = ("-o", self.folder / "out.pt", "--policy", "free") if verb == "fold" else ()
        status, result, errors = engine(
            verb, self.folder / "model.pt", *folding, "--inputs", self.folder / "inputs.npz", *options
        )
        self.assertIn(status, (0, 1, 2), errors)
        return status, result

    def largest_difference(self, *inputs):
        folded = torch.jit.load(self.folder / "out.pt").eval()
        with torch.no_grad(), torch.jit.optimized_execution(False):
            a, b = self.model(*inputs), folded(*inputs)
        return float((a - b).abs().max() / a.abs().max())

    def assert_not_folded(self, made, sample):
        _, analysis = self.run_on("analyze", made, sample)
        self.assertEqual([norm["verdict"] == "blocked" for norm in analysis["layer_norms"]], [True])
        status, result = self.run_on("fold", made, sample)
        self.assertEqual((status, result["folded"], result["output"]), (0, 0, None))

    def test_what_holds_at_the_samples_sizes_alone_is_relied_on_nowhere(self):
        x, u = numbers(2, 3, WIDTH), numbers(2, 3, WIDTH)
        for made, *sample in (
            (CutByANumber(), x, 1),
            (MeanOverAGivenAxis(), x, 2),
            (MaskOfANumber(), x, 1),
            (NormOverSoManyAxes(), x, 1),
            (GateByBatch(), numbers(1, 3, WIDTH)),
            (GateByTokens(), numbers(2, 1, WIDTH)),
            (GateOfAWeightsCorner(), numbers(2, 1, WIDTH)),
            (ProductOfInputs(), numbers(2, 1, WIDTH), numbers(2, 1, WIDTH)),
            (RowsByChance(), numbers(2, 4, WIDTH)),
            (CutOfRepeated(), numbers(2, 3, 6)),
            (RowsOfRepeated(), numbers(2, 3, 6)),
            (BehindACut(), numbers(2, 3, 12), u),
            (RowsOfACut(), numbers(2, 3, 8)),
            (BehindAnInput(), numbers(2, 3, 6), u),
            (ReadBehindAnInput(), numbers(2, 3, 6), u),
            (PartOfASplit(), numbers(2, 3, 8), u),
            (ScatteredAsFarAsAnInput(), numbers(2, 4, WIDTH), numbers(2, 1, WIDTH), torch.tensor([[0, 1], [2, 3]])),
        ):
            with self.subTest(type(made).__name__):
                self.assert_not_folded(made, sample)

    def test_a_gate_of_one_number_is_withdrawn_and_named(self):
        for gate in (numbers(1), numbers(1)[0], numbers(2, 3, 1)):
            with self.subTest(tuple(gate.shape)):
                sample = (numbers(2, 3, WIDTH), gate)
                self.assert_not_folded(Gate(), sample)
                _, analysis = self.run_on("analyze", Gate(), sample)
                condition = analysis["layer_norms"][0]["would_fold_if"][0]
                self.assertEqual((condition["input"], condition["axis"]), ("gate", -1))

    def test_inputs_with_channels_that_the_sample_has_not_are_a_condition(self):
        status, result = self.run_on("fold", MeanOfTokens(), (numbers(7, 7), numbers(7, 7, WIDTH)))
        self.assertEqual((status, result["folded"]), (0, 1), result)
        self.assertIn("differs there", str(result["holds_if"]))

    def test_what_is_left_out_of_a_sum_has_to_be_finite(self):
        sample = (numbers(2, 3, WIDTH), numbers(2, 3, 1))
        _, analysis = self.run_on("analyze", Offset(), sample)
        self.assertEqual(analysis["layer_norms"][0]["verdict"], "free")
        status, result = self.run_on("fold", Offset(), sample)
        self.assertEqual((status, result["verify"]["exact"]), (0, True), result)
        self.assertEqual([(held["axis"], held["text"]) for held in result["holds_if"]], [(0, "log is finite")])
        self.assertEqual(analysis["layer_norms"][0]["holds_if"], result["holds_if"])
        self.assertLess(self.largest_difference(numbers(5, 7, WIDTH), numbers(5, 7, 1)), 1e-10)

    def test_the_user_may_rely_on_it(self):
        sample = (numbers(2, 3, WIDTH), numbers(2, 3, 1))
        status, result = self.run_on("fold", Gate(), sample, "--assume", "gate[-1]=1")
        self.assertEqual((status, result["folded"]), (0, 1), result)
        self.assertIs(result["verify"]["exact"], True)
        self.assertEqual([condition["axis"] for condition in result["holds_if"]], [-1])
        self.assertLess(self.largest_difference(numbers(5, 7, WIDTH), numbers(5, 7, 1)), 1e-10)
        kept = {"normlens.holds_if": ""}
        torch.jit.load(self.folder / "out.pt", _extra_files=kept)
        self.assertEqual(kept["normlens.holds_if"], b"gate has size 1 in its last axis")
        told = engine("analyze", self.folder / "out.pt", "--inputs", self.folder / "inputs.npz")[1]
        self.assertIn("holds if gate has size 1 in its last axis", told["note"])

    def test_a_plan_that_relies_on_it_states_it(self):
        sample, plan = (numbers(2, 3, WIDTH), numbers(2, 3, 1)), self.folder / "plan.json"
        relied = self.run_on("fold", Gate(), sample, "--assume", "gate[-1]=1", "--save-plan", plan)[1]["holds_if"]
        files = ("-o", self.folder / "out.pt", "--inputs", self.folder / "inputs.npz", "--plan", plan)
        status, result, errors = engine("fold", self.folder / "model.pt", *files)
        self.assertEqual((status, result["folded"]), (0, 1), errors)
        self.assertEqual([held["text"] for held in result["holds_if"]], [held["text"] for held in relied])

    def test_what_the_model_refuses_to_run_otherwise_is_relied_on_unless_strict(self):
        sample = (numbers(2, 3, WIDTH), numbers(2, 3, 1))
        status, result = self.run_on("fold", GateThatMustBeOne(), sample)
        self.assertEqual((status, result["folded"]), (0, 1), result)
        self.assertIn("does not run with 8", result["holds_if"][0]["tested"])
        self.assertLess(self.largest_difference(numbers(5, 7, WIDTH), numbers(5, 7, 1)), 1e-10)
        status, result = self.run_on("fold", GateThatMustBeOne(), sample, "--strict")
        self.assertEqual((status, result["folded"]), (0, 0), result)

    def test_what_the_file_fixes_is_no_condition(self):
        status, result = self.run_on("fold", FixedGate(), (numbers(2, 3, WIDTH), numbers(2, 3)), "--strict")
        self.assertEqual((status, result["folded"], result["holds_if"]), (0, 1, []), result)
        self.assertLess(self.largest_difference(numbers(5, 7, WIDTH), numbers(5, 7)), 1e-10)

    def test_an_axis_that_is_dropped_at_some_sizes_alone_is_not_followed(self):
        status, _ = self.run_on("fold", Squeezed(), (numbers(2, 3, WIDTH),))
        self.assertEqual(status, 0)
        if (self.folder / "out.pt").exists():
            self.assertLess(self.largest_difference(numbers(2, 1, WIDTH)), 1e-10)

    def test_only_what_hangs_on_a_mask_stays(self):
        sample = (numbers(2, 3, WIDTH), numbers(2, 3, 1))
        status, result = self.run_on("fold", MaskAtTheEnd(), sample)
        self.assertEqual((status, result["folded"], result["layer_norms"]), (0, 4, 5), result)
        self.assertLess(self.largest_difference(numbers(5, 7, WIDTH), numbers(5, 7, 1)), 1e-10)
        self.assertLess(self.largest_difference(numbers(5, 7, WIDTH), numbers(5, 7, WIDTH)), 1e-10)

    def test_an_assumption_about_no_input_or_against_the_inputs_is_a_wrong_command(self):
        one, wide = (numbers(2, 3, WIDTH), numbers(2, 3, 1)), (numbers(2, 3, WIDTH), numbers(2, 3, WIDTH))
        for text in ("gate", "gate[1]=1", "door[-1]=1", "x[-1]=1", "gate[-9]=1", "gate[-1]=1"):
            for verb in ("analyze", "fold"):
                status, result = self.run_on(verb, Gate(), wide if text == "gate[-1]=1" else one, "--assume", text)
                self.assertEqual(status, 2, (text, result))
