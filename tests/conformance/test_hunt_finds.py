"""Models that random search found folded wrongly or refused needlessly, made small by hand."""

import pathlib
import tempfile
import unittest
import warnings
from typing import Any

import numpy
import torch
from samples import engine, load_operators
from torch import Tensor

WIDTH = 4


class LinearAndNorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH)


class GroupsOfTokens(torch.nn.Module):
    """Its gamma and beta go by channel: ops of their own behind what replaces the norm, which the proof looks into."""

    def __init__(self, groups: int):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(WIDTH, WIDTH), torch.nn.GroupNorm(groups, WIDTH)

    def forward(self, x: Tensor):
        y = self.first(x)
        return self.norm(y.reshape([-1, 4])).reshape([y.size(0), y.size(1), 4])


class WrittenInAList(LinearAndNorm):
    """`write` changes what the norm reads, as an element of a list."""

    def __init__(self, write):
        super().__init__()
        self.write = write

    def forward(self, x: Tensor):
        y = self.first(x)
        self.write(y, x * torch.arange(4.0))
        return self.norm(y)


class NormInASum(torch.nn.Module):
    """The sum is another one after the fold, which centers its second addend; the second norm's output is not."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.norm, self.last = torch.nn.LayerNorm(WIDTH, elementwise_affine=False), torch.nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor):
        return self.last(self.norm(self.first(x)) + self.second(x))


class TokenAddend(torch.nn.Module):
    """One number for each token is lost in the norm, unless the table has one that is not finite."""

    def __init__(self, bad: float):
        super().__init__()
        self.first, self.table = torch.nn.Linear(WIDTH, WIDTH), torch.nn.Embedding(10, WIDTH)
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.table.weight.data[9] = bad

    def forward(self, x: Tensor, ids: Tensor):
        return self.norm(self.first(x) + self.table(ids).mean(-1, keepdim=True))


class IntoAList(LinearAndNorm):
    """Nothing is known of what is made of a list that grows; no norm but the first has known sizes."""

    def forward(self, x: Tensor):
        y = torch.layer_norm(self.first(x), [4], self.norm.weight, self.norm.bias)
        values = [y]
        for _ in range(2):
            values.append(values[-1] * 0.5)
        y = torch.stack(values).sum(0)
        y = y - y.mean(-1, keepdim=True)
        return y / torch.sqrt((y * y).mean(-1, keepdim=True) + 1e-5)


class IntoAListOfABranch(IntoAList):
    def forward(self, x: Tensor, n: int = 2):
        values = [x]
        if n > 2:
            y = torch.layer_norm(self.first(x), [4], self.norm.weight, self.norm.bias)
            values.append(y)
        return torch.stack(values).sum(0)


class Beside(torch.nn.Module):
    """Another module's norm beside one of its own."""

    def __init__(self, norm):
        super().__init__()
        self.norm, self.own = norm, torch.nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor):
        return self.norm(x) + self.own(x)


class SharedNorm(torch.nn.Module):
    """Traced, the one norm is handed to the other module's method as an argument."""

    def __init__(self):
        super().__init__()
        norm = torch.nn.LayerNorm(WIDTH)
        self.first, self.beside, self.norm = torch.nn.Linear(WIDTH, WIDTH), Beside(norm), norm

    def forward(self, x: Tensor):
        y = self.first(x)
        return self.norm(y) + self.beside(y)


class WithNoGrad(LinearAndNorm):
    """A block that changes no value, and a warning."""

    def forward(self, x: Tensor):
        with torch.no_grad():
            y = self.first(x)
        if x.size(0) > 0:
            warnings.warn("deprecated")
        with torch.autograd.profiler.record_function("norm"):
            return self.norm(y)


class WithAutocast(LinearAndNorm):
    """A block that changes what type ops compute in."""

    def forward(self, x: Tensor):
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            y = self.first(x)
        return self.norm(y)


@torch.jit.script
class Later:
    """Holds a tensor and adds to it, channel by channel, if it grows beyond what any sample has."""

    def __init__(self, held: Tensor):
        self.held = held

    def change(self):
        if bool(self.held.abs().max() > 1e6):
            self.held.add_(torch.arange(self.held.size(-1)).to(self.held))

    def look(self) -> int:
        return self.held.size(-1)

    def __enter__(self):
        self.change()

    def __exit__(self, type: Any, value: Any, trace: Any):
        pass


class WrittenByAMethod(LinearAndNorm):
    def forward(self, x: Tensor):
        y = self.first(x)
        Later(y).change()
        return self.norm(y)


class WrittenByAWith(WrittenByAMethod):
    def forward(self, x: Tensor):
        y = self.first(x)
        with Later(y):
            z = y * 1.0
        return self.norm(z)


class OnlyLookedAt(WrittenByAMethod):
    def forward(self, x: Tensor):
        return self.norm(self.first(x)) * Later(x).look()


class LargestOfABag(torch.nn.Module):
    """The function of torch asks for the table's size and reads it as it was, beside a lookup of the centered one."""

    def __init__(self):
        super().__init__()
        self.table, self.norm = torch.nn.Embedding(10, WIDTH), torch.nn.LayerNorm(WIDTH)

    def forward(self, ids: Tensor):
        return self.norm(self.table(ids)), torch.nn.functional.embedding_bag(ids, self.table.weight, mode="max")


class OneGroup(LinearAndNorm):
    """Its gamma and beta are [channels, 1] behind what replaces it."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.GroupNorm(1, WIDTH)

    def forward(self, x: Tensor):
        return self.norm(self.first(x).unsqueeze(2))


class JoinedPositions(torch.nn.Module):
    """One position in the run that is seen, several in others: the mean goes over them."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 1)

    def forward(self, x: Tensor):
        y = self.first(x)
        n = y.reshape(y.size(0), 4, -1)
        return torch.nn.functional.layer_norm(n, [n.size(-1)])


class FlattenedPositions(JoinedPositions):
    def forward(self, x: Tensor):
        y = self.first(x).flatten(1)
        return torch.nn.functional.layer_norm(y, [y.size(-1)])


class PooledPositions(JoinedPositions):
    def forward(self, x: Tensor):
        y = torch.nn.functional.adaptive_avg_pool2d(self.first(x), 1).flatten(1)
        return torch.nn.functional.layer_norm(y, [8])


class OtherSizes(LinearAndNorm):
    """The op cuts memory by the sizes that it is given, which follow the batch in the run that is seen alone."""

    def forward(self, x: Tensor):
        y = self.first(x)
        b = y.size(0)
        n = 1 if b > 50 else b
        return torch.native_group_norm(y, None, None, n, 4, b // n, 2, 1e-5)[0]


class CountsItsStream(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.block, self.last = (
            torch.nn.Embedding(10, 8),
            torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8)),
            torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Linear(8, 4)),
        )

    def forward(self, ids: Tensor):
        x = self.table(ids)
        x = x + self.block(x)
        y = self.last(x)
        return -y if x.numel() >= 2400 else y


class LeavesItsStreamUncounted(CountsItsStream):
    def forward(self, ids: Tensor):
        x = self.table(ids)
        return self.last(x + self.block(x))


class ViewsTheNorm(torch.nn.Module):
    """A view of a norm's result: LayerNorm's is dense, whatever the strides of its input."""

    def __init__(self, norm):
        super().__init__()
        self.addend, self.norm = torch.nn.Parameter(torch.zeros(WIDTH)), norm

    def forward(self, x: Tensor):
        return self.norm(x - x.mean(1, keepdim=True) + self.addend).relu().view(-1)


class NarrowTable(LinearAndNorm):
    """A table that is stored in fewer bits than the stream has: centered, it would be rounded, and as it is it is not."""

    def __init__(self, dtype):
        super().__init__()
        self.table = torch.nn.Parameter((torch.randn(600, WIDTH) + 3).to(dtype))

    def forward(self, x: Tensor):
        return self.norm(self.first(x) + self.table[: x.size(1)])


class LookedUpNarrowTable(NarrowTable):
    def forward(self, x: Tensor):
        return self.norm(self.first(x) + torch.nn.functional.embedding(torch.arange(x.size(1)), self.table))


class NarrowAtOtherLengths(LinearAndNorm):
    """In the branch that no trial takes, a centering would be at a value of fewer bits than the sum has."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(600, WIDTH) + 3)

    def forward(self, x: Tensor):
        table = self.table[: x.size(1)]
        if x.size(1) > 100:
            return self.norm(self.first(x) + table.half())
        return self.norm(self.first(x) + table)


class AddsInside(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return x + self.linear(self.norm(x))


class TwoReadersOfASumInside(torch.nn.Module):
    def __init__(self, written_out):
        super().__init__()
        self.first, self.part = torch.nn.Linear(WIDTH, WIDTH), AddsInside()
        self.second, self.written_out = torch.nn.LayerNorm(WIDTH, bias=False), written_out

    def forward(self, x):
        stream = self.part(self.first(x))
        if self.written_out:
            centered = stream - stream.mean(-1, keepdim=True)
            one = centered / torch.sqrt((centered * centered).mean(-1, keepdim=True) + 1e-5)
        else:
            one = torch.nn.functional.layer_norm(stream, [stream.size(-1)])
        return one, self.second(stream)


class HuntFinds(unittest.TestCase):
    def fold(self, made, *inputs, options=()):
        torch.manual_seed(5)
        for parameter in made.parameters():
            if parameter.isfinite().all():
                parameter.data = torch.randn(parameter.shape)
        with tempfile.TemporaryDirectory() as folder:
            model, out, npz = (pathlib.Path(folder) / name for name in ("m.pt", "o.pt", "i.npz"))
            torch.jit.script(made.double().eval()).save(str(model))
            numpy.savez(npz, **{f"in_{i}": value.numpy() for i, value in enumerate(inputs)})
            status, result, errors = engine("fold", model, "-o", out, "--inputs", npz, *options)
            self.assertIn(status, (0, 1), errors)
            return status, result

    def test_the_sum_behind_a_norm_is_not_its_output(self):
        x = torch.randn(2, 3, WIDTH, dtype=torch.float64)
        for flavour in ("portable", "primitives", "fast"):
            status, result = self.fold(NormInASum(), x, options=("--policy", "all", "--norm", flavour))
            self.assertEqual((status, result["folded"], result["verify"]["exact"]), (0, 2, True), (flavour, result))

    def test_a_norm_that_outputs_may_not_show_is_found_in_the_fold(self):
        x = torch.randn(2, 3, WIDTH, dtype=torch.float64)
        for flavour in ("portable", "primitives", "fast"):
            for kind in (IntoAList,) if flavour == "primitives" else (IntoAList, IntoAListOfABranch):
                status, result = self.fold(kind(), x, options=("--norm", flavour))
                self.assertEqual((status, result["folded"], result["verify"]["exact"]), (0, 1, True), (kind, result))

    def test_norms_of_one_sum_keep_their_order(self):
        x = torch.randn(2, 3, WIDTH, dtype=torch.float64)
        for written_out in (False, True):
            status, result = self.fold(TwoReadersOfASumInside(written_out), x, options=("--norm", "fast"))
            self.assertEqual((status, result["folded"], result["verify"]["exact"]), (0, 3, True), (written_out, result))

    def test_what_the_file_makes_infinite_is_not_dropped(self):
        x, ids = torch.randn(2, 3, WIDTH, dtype=torch.float64), torch.arange(6).view(2, 3)
        for bad in (float("-inf"), float("nan")):
            self.assertEqual(self.fold(TokenAddend(bad), x, ids)[1]["folded"], 0, bad)
        self.assertEqual(self.fold(TokenAddend(1.0), x, ids)[1]["folded"], 1)

    def test_groups_of_channels_fold(self):
        for groups in (1, 2):
            for norm in ("portable", "fast", "primitives"):
                with self.subTest(groups=groups, norm=norm):
                    x = torch.randn(3, 2, WIDTH, dtype=torch.float64)
                    status, result = self.fold(GroupsOfTokens(groups), x, options=("--norm", norm))
                    self.assertEqual((status, result["folded"], result["verify"]["exact"]), (0, 1, True), result)

    def test_a_function_may_ask_for_the_size_of_either_table(self):
        status, result = self.fold(LargestOfABag(), torch.arange(6).view(2, 3), options=("--policy", "all"))
        self.assertEqual((status, result["folded"], result["verify"]["exact"]), (0, 1, True), result)
        self.assertGreater(result["bytes_grown"], 0)  # by a copy, not by a centering at run time

    def test_a_norm_over_what_another_run_joins_stays(self):
        x = torch.randn(2, 3, 1, 1, dtype=torch.float64)
        for kind, folded in ((JoinedPositions, 0), (FlattenedPositions, 0), (PooledPositions, 1)):
            self.assertEqual(self.fold(kind(), x)[1]["folded"], folded, kind.__name__)

    def test_a_group_of_all_channels_at_one_position_folds(self):
        status, result = self.fold(OneGroup(), torch.randn(3, WIDTH, dtype=torch.float64))
        self.assertEqual((status, result["folded"], result["verify"]["exact"]), (0, 1, True), result)

    def test_a_group_norm_of_sizes_of_its_own_stays(self):
        self.assertEqual(self.fold(OtherSizes(), torch.randn(4, WIDTH, dtype=torch.float64))[1]["folded"], 0)

    def test_what_stands_for_a_norm_can_be_viewed(self):
        load_operators()
        across = torch.randn(WIDTH, 3, dtype=torch.float64).t()
        for norm in (torch.nn.LayerNorm(WIDTH), torch.nn.GroupNorm(1, WIDTH)):
            for flavour in ("portable", "primitives", "fast"):
                with self.subTest(norm=norm, flavour=flavour), tempfile.TemporaryDirectory() as folder:
                    model, out = pathlib.Path(folder) / "m.pt", pathlib.Path(folder) / "o.pt"
                    torch.jit.script(ViewsTheNorm(norm).double().eval()).save(str(model))
                    status, result, errors = engine(
                        "fold", model, "-o", out, "--input", "x=float64[3,4]", "--norm", flavour
                    )
                    self.assertEqual((status, result["folded"]), (0, 1), errors)
                    torch.testing.assert_close(torch.jit.load(str(out))(across), torch.jit.load(str(model))(across))

    def test_numbers_of_a_narrower_type_are_not_rounded_anew(self):
        for kind in (NarrowTable, LookedUpNarrowTable):
            for wide, narrow in ((torch.float64, torch.float16), (torch.float64, torch.float32), (torch.float32, torch.bfloat16)):
                with self.subTest(kind=kind.__name__, wide=wide, narrow=narrow), tempfile.TemporaryDirectory() as folder:
                    torch.manual_seed(5)
                    made = kind(narrow).eval()
                    made.first, made.norm = made.first.to(wide), made.norm.to(wide)
                    model, out = pathlib.Path(folder) / "m.pt2", pathlib.Path(folder) / "o.pt2"
                    x = torch.randn(2, 5, WIDTH, dtype=wide)
                    torch.export.save(torch.export.export(made, (x,)), str(model))
                    result = engine("fold", model, "-o", out)[1]
                    self.assertFalse(out.exists(), result)

    def test_a_centering_is_made_in_the_type_of_the_sum(self):
        made = NarrowAtOtherLengths().double().eval()
        with tempfile.TemporaryDirectory() as folder:
            model, out = pathlib.Path(folder) / "m.pt", pathlib.Path(folder) / "o.pt"
            torch.jit.script(made).save(str(model))
            engine("fold", model, "-o", out, "--policy", "all", "--input", "x=float64[2,5,4]")
            x = torch.randn(1, 400, WIDTH, dtype=torch.float64)
            if out.exists():
                torch.testing.assert_close(torch.jit.load(str(out))(x), made(x))

    def test_writes_into_lists_are_seen(self):
        """torch.export keeps them, and TorchScript's passes leave them out as if nothing were written."""
        writes = {
            "foreach_add": lambda h, v: torch._foreach_add_([h], [v]),
            "foreach_mul of a view": lambda h, v: torch._foreach_mul_([h[:2]], [v[:2]]),
            "foreach_copy": lambda h, v: torch._foreach_copy_([h], [v]),
            "unbind": lambda h, v: torch.ops.aten.unbind_copy.int_out(v.unsqueeze(0), 0, out=[h]),
        }
        for name, write in writes.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                model, out = pathlib.Path(folder) / "m.pt2", pathlib.Path(folder) / "o.pt2"
                torch.export.save(torch.export.export(WrittenInAList(write).eval(), (torch.rand(4, WIDTH),)), str(model))
                engine("fold", model, "-o", out)
                self.assertFalse(out.exists())

    def test_a_stream_whose_elements_are_counted_keeps_its_channels(self):
        torch.manual_seed(5)
        with tempfile.TemporaryDirectory() as folder:
            model, out = pathlib.Path(folder) / "m.pt", pathlib.Path(folder) / "o.pt"
            torch.jit.script(CountsItsStream().double().eval()).save(str(model))
            words = ("crms", model, "-o", out, "--input", "ids=int64[2,5]:0..9")
            engine(*words)
            ids = torch.randint(0, 10, (3, 105))  # 2,520 numbers of 8 channels, 2,205 of 7
            if out.exists():
                torch.testing.assert_close(torch.jit.load(str(out))(ids), torch.jit.load(str(model))(ids))
            torch.jit.script(LeavesItsStreamUncounted().double().eval()).save(str(model))
            out.unlink(missing_ok=True)
            engine(*words)
            self.assertTrue(out.exists(), "the count alone keeps the channels")

    def test_blocks_that_change_no_value_are_run(self):
        x = torch.randn(2, 3, WIDTH, dtype=torch.float64)
        status, result = self.fold(WithNoGrad(), x)
        self.assertEqual((status, result["folded"], result["verify"]["exact"]), (0, 1, True), result)

    def test_what_hidden_code_may_write_is_not_relied_on(self):
        x = torch.randn(2, 3, WIDTH, dtype=torch.float64)
        for kind, folded in ((WrittenByAMethod, 0), (WrittenByAWith, 0), (OnlyLookedAt, 1)):
            self.assertEqual(self.fold(kind(), x)[1]["folded"], folded, kind.__name__)

    def test_a_block_that_changes_the_type_is_told(self):
        torch.manual_seed(5)
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "m.pt"
            torch.jit.script(WithAutocast().eval()).save(str(model))
            status, result, errors = engine("analyze", model, "--input", f"in_0=float32[2,{WIDTH}]")
            self.assertNotIn("crashed", str(result) + errors)
            self.assertIn("'with' block", str(result) + errors)

    def test_what_is_written_can_be_loaded(self):
        torch.manual_seed(5)
        x = torch.randn(3, WIDTH)
        with tempfile.TemporaryDirectory() as folder:
            model, out = pathlib.Path(folder) / "m.pt", pathlib.Path(folder) / "o.pt"
            torch.jit.trace(SharedNorm().eval(), x).save(str(model))
            status, result, errors = engine("fold", model, "-o", out)
            if status == 0:
                torch.testing.assert_close(torch.jit.load(str(out))(x), torch.jit.load(str(model))(x))
            else:
                self.assertEqual(status, 1, errors)
                self.assertIn("handed to another one's method", str(result) + errors)
                self.assertFalse(out.exists())
