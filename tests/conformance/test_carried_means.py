"""fold --carry-mean: streams that keep their mean beside them, for who reads them as they are."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import torch
from samples import ran
from sessions import LEVELS, outputs
from torch import nn

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import transformers

WIDTH, BLOCKS = 32, 3
CHECKER = pathlib.Path(__file__).parents[2] / "app" / "python" / "normlens" / "check_certificate.py"


class Tower(nn.Module):
    """CLIP's vision tower as transformers has it: a norm before the blocks, the last hidden state as an output."""

    def __init__(self):
        super().__init__()
        config = transformers.CLIPVisionConfig(
            hidden_size=WIDTH, intermediate_size=64, num_hidden_layers=BLOCKS, num_attention_heads=4, image_size=16, patch_size=8
        )
        self.model, self.x = transformers.CLIPVisionModel(config), torch.randn(2, 3, 16, 16)

    def forward(self, x: torch.Tensor):
        found = self.model(pixel_values=x)
        return found.last_hidden_state, found.pooler_output


class States(nn.Module):
    """GPT-2 with the states of two layers: its linears work on a view of two axes."""

    def __init__(self):
        super().__init__()
        config = transformers.GPT2Config(n_embd=WIDTH, n_layer=8, n_head=4, vocab_size=50, n_positions=16)
        self.model, self.x = transformers.GPT2Model(config), torch.randint(0, 50, (2, 6))

    def forward(self, ids: torch.Tensor):
        states = self.model(input_ids=ids, use_cache=False, output_hidden_states=True).hidden_states
        return states[4], states[8]


def written(module: nn.Module, path: pathlib.Path) -> pathlib.Path:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if path.suffix == ".pt":
            torch.jit.trace(module, module.x, strict=False, check_trace=False).save(str(path))
        elif path.suffix == ".pt2":
            torch.export.save(torch.export.export(module, (module.x,)), str(path))
        else:
            torch.onnx.export(module, (module.x,), str(path), dynamo=True, external_data=False, verbose=False)
    return path


def results(module: nn.Module, path: pathlib.Path) -> list:
    with torch.no_grad():
        if path.suffix == ".pt":
            return list(torch.jit.load(str(path))(module.x))
        if path.suffix == ".pt2":
            return list(torch.export.load(str(path)).module()(module.x))
    return [torch.from_numpy(each) for each in outputs(path, LEVELS[-1], [module.x.numpy()])]


class CarriedMeans(unittest.TestCase):
    def folded(self, module: nn.Module, suffix: str) -> dict:
        torch.manual_seed(5)
        for parameter in module.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
        module.eval()
        with tempfile.TemporaryDirectory() as folder:
            original = written(module, pathlib.Path(folder) / f"model{suffix}")
            out, plan = original.with_stem("folded"), original.with_name("plan.json")
            certificate = original.with_name("certificate.json")
            report = ran(self, "fold", original, "--carry-mean", "-o", out, "--save-plan", plan, "--certificate", certificate)
            checked = subprocess.run([sys.executable, CHECKER, out, certificate], capture_output=True, text=True, check=False)
            self.assertEqual(checked.returncode, 0, checked.stdout)
            self.assertTrue(report["verify"]["exact"], report)
            for before, after in zip(results(module, original), results(module, out), strict=True):
                torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-4)
            again = ran(self, "fold", original, "--plan", plan, "-o", out)
            self.assertTrue(again["verify"]["exact"], again)
            self.assertEqual(again["means_carried"], report["means_carried"])
            if suffix == ".onnx":
                whole = ran(self, "fold", original, "--carry-mean", "--proof", "sections", "-o", out)
                self.assertEqual(whole["means_carried"], 0)
                self.assertIn("sections", whole["not_carried"])
            return report

    def test_every_norm_of_a_vision_tower_folds(self):
        for suffix in (".pt", ".pt2", ".onnx"):
            with self.subTest(suffix):
                report = self.folded(Tower(), suffix)
                self.assertEqual(report["folded"], 2 * BLOCKS + 2)
                self.assertEqual((report["means_carried"], report["centerings"]), (1, 1))

    def test_hidden_states_of_linears_over_views(self):
        for suffix in (".pt", ".pt2", ".onnx"):
            with self.subTest(suffix):
                report = self.folded(States(), suffix)
                self.assertEqual((report["folded"], report["means_carried"]), (17, 1))


if __name__ == "__main__":
    unittest.main()
