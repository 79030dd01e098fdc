"""The training form under torch.compile and autocast, and in two processes under DDP and fully_shard (gloo, on the CPU).

    run_tests.py test_training_wrapped.py ENGINE
"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import package

package.need_torch()

import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parametrize

import normlens
from equal import settled
from normlens.module.compare import relative
from streams import IDS, Stream

STEPS = 6
KINDS = ("exact", "tied", "practical")


class Rough(Stream):
    """A relu before the stream: the norms behind it are blocked."""

    def __init__(self):
        super().__init__()
        for mix in self.mix:
            mix.append(nn.ReLU())


def both(kind="exact", dtype=torch.float64):
    """(in training form, its measure: LayerNorm's network, or of the practical form, which is no other network, a copy)"""
    torch.manual_seed(11)
    original = settled((Rough() if kind == "practical" else Stream(tied=kind == "tied")).to(dtype)).train()
    module = copy.deepcopy(original)
    _, report = normlens.cbwc(module, IDS, exact=kind != "practical")
    assert len(report.folded) == 3
    if kind == "practical":
        assert report.deviations[0].difference > 1e-3
        assert any(parametrize.is_parametrized(part) for part in module.modules())
        return module, copy.deepcopy(module)
    return module, original


def trained_together(module, batches):
    """In one process, as several do: losses of the first batch; a step follows the mean of all."""
    optimizer = torch.optim.AdamW(module.parameters(), 0.01)
    losses = []
    for place in range(STEPS):
        ids = [(given + place) % 11 for given in batches]
        found = [nn.functional.cross_entropy(module(one).flatten(0, -2), one.flatten()) for one in ids]
        optimizer.zero_grad()
        (sum(found) / len(found)).backward()
        optimizer.step()
        losses.append(found[0].item())
    return torch.tensor(losses, dtype=torch.float64)


def trained(module, given, autocast=False):
    """Losses of some steps on batches that differ."""
    optimizer = torch.optim.AdamW(module.parameters(), 0.01)
    losses = []
    for place in range(STEPS):
        ids = (given + place) % 11
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            output = module(ids)
        loss = nn.functional.cross_entropy(output.flatten(0, -2).float() if autocast else output.flatten(0, -2), ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


def apart(one, other):
    return (one - other).abs().max().item()


class Wrapped(unittest.TestCase):
    def test_compiled(self):
        for backend, kind in (("aot_eager", "exact"), ("inductor", "exact"), ("aot_eager", "practical")):
            with self.subTest(backend, kind=kind):
                module, original = both(kind)
                torch._dynamo.reset()
                compiled = torch.compile(module, backend=backend, fullgraph=True)
                self.assertLess(apart(trained(compiled, IDS), trained(original, IDS)), 1e-10)
                output = compiled(IDS)
                self.assertLess(relative(output, original(IDS)), 1e-9)
                self.assertIs(normlens.uncbwc(compiled), compiled)
                self.assertFalse(any(parametrize.is_parametrized(part) for part in module.modules()))
                self.assertLess(relative(compiled(IDS), output), 1e-12, "compiled again, without the parametrisation")

    def test_autocast(self):
        """Twice as far from float32 as LayerNorm's network under the same autocast is, at most; types are LayerNorm's."""
        for kind in KINDS:
            module, original = both(kind, torch.float32)
            exact = copy.deepcopy(original)
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
                one, other = module(IDS), original(IDS)
            self.assertEqual(one.dtype, other.dtype)
            truth = exact(IDS)
            lost = (other - truth).abs().max().item()
            self.assertLess((one - truth).abs().max().item(), 2 * lost + 1e-6)
            curve = trained(exact, IDS)
            own = apart(trained(original, IDS, autocast=True), curve)
            gap = apart(trained(module, IDS, autocast=True), curve)
            self.assertLess(gap, 3 * own + 1e-3)
            print(f"autocast, {kind}: losses differ from float32 by {gap:.1e}, LayerNorm's by {own:.1e}", file=sys.stderr)

    def test_autocast_compiled(self):
        module, original = both("exact", torch.float32)
        torch._dynamo.reset()
        compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
        self.assertLess(apart(trained(compiled, IDS, autocast=True), trained(original, IDS, autocast=True)), 0.05)

    def test_two_processes(self):
        for wrapping in ("ddp", "fsdp"):
            for kind in KINDS:
                with self.subTest(wrapping, kind=kind):
                    for figures in in_two_processes(wrapping, kind):
                        print(f"{wrapping}, {kind}: {figures}", file=sys.stderr)
                        self.assertLess(figures["losses"], 1e-10)
                        self.assertLess(figures["baked"], 1e-9)
                        self.assertEqual(figures["refused"], wrapping == "fsdp")


def in_two_processes(wrapping, kind):
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, __file__, package.ENGINE, wrapping, kind, str(pathlib.Path(folder, "store"))]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        started = [
            subprocess.Popen([*words, str(rank)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
            for rank in range(2)
        ]
        ended = [process.communicate(timeout=300) for process in started]
    for process, (_, told) in zip(started, ended):
        if process.returncode:
            raise RuntimeError(told[-3000:])
    return [json.loads(out.splitlines()[-1]) for out, _ in ended]


def worker(wrapping, kind, store, rank):
    """Each process has inputs of its own; the measure is trained on all of them, in one. Prints figures."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    module, original = both(kind)
    plain = copy.deepcopy(module)
    batches = [(IDS + 3 * one) % 11 for one in (rank, 1 - rank)]
    sharded = wrapping == "fsdp"
    if sharded:
        mesh = init_device_mesh("cpu", (2,))
        for part in module.mix if kind != "tied" else ():
            fully_shard(part, mesh=mesh)
        fully_shard(module, mesh=mesh)
    losses = trained(module if sharded else DistributedDataParallel(module), batches[0])
    losses = losses, trained_together(original, batches)
    refused = False
    if sharded:
        try:
            normlens.cbwc(module, IDS)
            raise AssertionError("a sharded module was looked at")
        except ValueError as reason:
            assert "before fully_shard" in str(reason)
    try:
        with torch.no_grad():
            now = module(IDS).clone()
        normlens.uncbwc(module)
    except ValueError as reason:
        refused = "sharded" in str(reason)
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=False)
    state = get_model_state_dict(module, options=options) if sharded else None
    if sharded:
        plain.load_state_dict(state)
        normlens.uncbwc(plain, IDS)
    baked = plain if sharded else module
    assert not any(parametrize.is_parametrized(part) for part in baked.modules())
    with torch.no_grad():
        truth = original(IDS)
        figures = {
            "losses": apart(*losses),
            "baked": max(relative(baked(IDS), now), relative(now, truth)),
            "refused": refused,
        }
    print(json.dumps(figures))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    worker(*sys.argv[2:5], int(sys.argv[5]))
