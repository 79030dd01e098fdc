"""What the laboratory trained, as torch sees it: the torch.export archive gives the TorchScript file's numbers at any
batch and length, and says what its values are; of the network with centered weights nothing is left to fold."""

import json
import pathlib
import sys
import tempfile
import unittest

import torch
from torch.export import load

from samples import engine

CHARACTERS = 8  # at least so many are in the generated text
TRANSFORMER = {"experiment": "transformer", "layers": [2], "steps_per_epoch": 4, "context": 16, "heads": 2,
               "data": {"kind": "characters", "samples": 4000}}
PERCEPTRON = {"layers": [3], "activation": "gelu", "data": {"kind": "teacher", "samples": 200, "features": 5}}
NETWORKS = ["layer_norm", "cbwc_rms_norm", "rms_norm", "plain"]


def trained(folder, run, precision):
    """-> the paths of the networks without their suffix, by their words"""
    settings = {"width": 16, "epochs": 2, "batch": 4, "threads": 1, "random_affine": True, "networks": NETWORKS,
                "precisions": [precision], **run}
    (folder / "run.json").write_text(json.dumps(settings))
    status, report, errors = engine("lab", folder / "run.json", "-o", folder / precision)
    assert status == 0, errors
    names = {pathlib.Path(name).stem for name in report["weights"]}
    return {word: folder / precision / next(name for name in names if name.startswith(f"{word}_{run['layers'][0]}x"))
            for word in NETWORKS}


class Told(torch.fx.Interpreter):
    """Runs a program; collects the values that are not what the file says of them in its example."""

    def __init__(self, program):
        super().__init__(program.graph_module)
        self.program, self.wrong = program, []

    def check(self, x):
        state = self.program.state_dict
        held = [state[spec.target] for spec in self.program.graph_signature.input_specs if spec.target]
        self.run(*held, x)
        return self.wrong

    def run_node(self, node):
        value, told = super().run_node(node), node.meta.get("val")
        if isinstance(told, torch.Tensor):
            def layout(tensor):
                numbers = (*tensor.shape, *tensor.stride())  # torch reads no offset
                return [getattr(number, "node", None) and number.node.hint or number for number in numbers]

            if (value.dtype, layout(value)) != (told.dtype, layout(told)):
                self.wrong.append((node.name, value.dtype, layout(value), told.dtype, layout(told)))
        return value


class Trained(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        torch.manual_seed(0)

    def compare(self, networks, inputs, bound):
        for word, path in networks.items():
            script = torch.jit.load(f"{path}.pt")
            exported = load(f"{path}.pt2")
            exported.validate()
            with torch.no_grad():
                self.assertEqual(Told(exported).check(inputs[0]), [])
            for name, program in (("as written", exported), ("decomposed", exported.run_decompositions())):
                module = program.module()
                for x in inputs:
                    with self.subTest(network=word, program=name, shape=tuple(x.shape)), torch.no_grad():
                        expected, got = script(x), module(x)
                        self.assertEqual(got.shape, expected.shape)
                        self.assertLess(((got - expected).abs().max() / expected.abs().max()).item(), bound)

    def test_transformers_compute_the_same(self):
        for precision, bound in (("float32", 1e-5), ("float64", 1e-13)):
            networks = trained(self.folder, TRANSFORMER, precision)
            sizes = ((2, 16), (1, 1), (5, 7))
            self.compare(networks, [torch.randint(0, CHARACTERS, size) for size in sizes], bound)
            with self.assertRaisesRegex(Exception, "<= 16"):
                load(f"{networks['plain']}.pt2").module()(torch.zeros(2, 17, dtype=torch.long))

    def test_perceptrons_compute_the_same(self):
        networks = trained(self.folder, PERCEPTRON, "float32")
        self.compare(networks, [torch.randn(size, 5) for size in (2, 1, 9)], 1e-5)

    def test_of_centered_networks_nothing_is_left_to_fold(self):
        networks = trained(self.folder, TRANSFORMER, "float32")
        for suffix in ("pt", "pt2"):
            with self.subTest(suffix):
                status, analysis, errors = engine("analyze", f"{networks['cbwc_rms_norm']}.{suffix}")
                self.assertEqual(status, 0, errors)
                self.assertIsNone(analysis["probe_error"])
                self.assertEqual(analysis["layer_norms"], [])
                self.assertEqual([norm["kind"] for norm in analysis["other_norms"]], 5 * ["RMSNorm"])

    def test_the_other_network_folds_and_torch_loads_it(self):
        path = trained(self.folder, TRANSFORMER, "float32")["layer_norm"]
        out = self.folder / "folded.pt2"
        status, result, errors = engine("fold", f"{path}.pt2", "-o", out)
        self.assertEqual(status, 0, f"{errors} {result}")
        self.assertEqual(result["folded"], 5)
        self.assertIs(result["verify"]["exact"], True, result["verify"])
        x = torch.randint(0, CHARACTERS, (3, 11))
        with torch.no_grad():
            torch.testing.assert_close(load(out).module()(x), load(f"{path}.pt2").module()(x), rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
