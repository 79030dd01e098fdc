"""Files that change while they are open: what was opened is what is written, or a sentence."""

import os
import shutil
import unittest

import numpy

from engine import FaultCase, MODELS, cases, expand


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def empty(path):
    os.truncate(path, 0)


def overwrite(path):
    """Other bytes, the same size and times."""
    times = path.stat()
    with open(path, "r+b") as file:
        for at in range(0, times.st_size - 4096, max(times.st_size // 64, 4096)):
            file.seek(at)
            file.write(b"\x5a" * 1024)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def one_byte(path):
    times = path.stat()
    with open(path, "r+b") as file:
        file.seek(times.st_size // 2)
        byte = file.read(1)[0]
        file.seek(times.st_size // 2)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def grow(path):
    with open(path, "ab") as file:
        file.write(b"more")


def rename_over(path):
    """Another one in its place; who has the old one open still has it."""
    other = path.with_name("other")
    other.write_bytes(b"something else")
    other.rename(path)


def same_again(path):
    content = path.read_bytes()
    with open(path, "r+b") as file:
        file.write(content)


def remove(path):
    path.unlink()


def other_mode(path):
    path.chmod(0o600)


def other_name(path):
    os.link(path, path.with_name("linked"))


HARMLESS = (same_again, other_mode, other_name)
CHANGES = (truncate, empty, overwrite, one_byte, grow, rename_over, remove, *HARMLESS)
FILES = (("pt", "small.pt", "small.pt"), ("onnx", "small.onnx", "small.onnx"), ("onnx_data", "data.onnx", "data.bin"))


@expand
class ChangedFiles(FaultCase):
    def open_copy(self, model):
        mine = self.folder / "models"
        mine.mkdir()
        for path in {MODELS[model], *MODELS[model].parent.glob("data.bin" if model == "data.onnx" else model)}:
            shutil.copy2(path, mine)
        served = self.serve().begin()
        served.ask("open", {"path": str(mine / model)})
        return served, mine

    @cases(*((f"{name}_{change.__name__}", model, changed, change) for name, model, changed in FILES
             for change in CHANGES))
    def before_export(self, model, changed, change):
        served, mine = self.open_copy(model)
        served.ask("analyze")
        served.ask("fold", {"verify": True})
        change(mine / changed)
        out = self.out_folder / ("out" + (mine / model).suffix)
        answer = served.answer(served.send("export", {"path": str(out), "force": True}))
        if "error" in answer:
            self.assertNotIn(change, HARMLESS, answer)
            self.assertRegex(answer["error"]["message"], "changed on the disk|became shorter|cannot be|not there|gone")
            self.nothing_left_but_scratch()
        else:
            self.assertIn(change, (*HARMLESS, rename_over, remove, grow), answer)
            self.assertEqual(self.run_engine("diff", MODELS[model], out, "--fail-above", "1e-3").returncode, 0)
        # The engine lives, and opens what is whole.
        served.ask("open", {"path": str(MODELS["small.pt"])})
        served.shutdown()

    @cases(*((f"{name}_{change.__name__}", model, changed, change) for name, model, changed in FILES
             for change in (overwrite, rename_over)))
    def before_the_worker_dies(self, model, changed, change):
        """The next worker does not open, prove and write something else instead."""
        served, mine = self.open_copy(model)
        served.ask("analyze")
        served.ask("fold", {"verify": True})
        change(mine / changed)
        served.kill_worker()
        out = self.out_folder / ("out" + (mine / model).suffix)
        self.assertIn("changed on the disk", served.refused("export", {"path": str(out), "force": True}))
        self.nothing_left_but_scratch()
        served.ask("open", {"path": str(MODELS["small.pt"])})
        served.ask("analyze")
        served.shutdown()

    def test_inputs_that_went_are_not_guessed_instead(self):
        served, mine = self.open_copy("small.pt")
        inputs = mine / "in.npz"
        numpy.savez(inputs, in_0=numpy.ones((64, 128), dtype=numpy.float32))
        served.answer(served.send("set_inputs", {"npz": str(inputs), "specs": []}))
        served.ask("analyze")
        served.ask("fold", {"verify": True})
        inputs.unlink()
        served.kill_worker()
        served.refused("export", {"path": str(self.out_folder / "out.pt"), "force": True})
        self.nothing_left_but_scratch()
        served.shutdown()

    def nothing_left_but_scratch(self):
        self.assertEqual(list(self.out_folder.iterdir()), [])

    @cases(*((f"{name}_{change.__name__}", model, changed, change) for name, model, changed in FILES
             for change in (truncate, empty, overwrite)))
    def before_analyze(self, model, changed, change):
        served, mine = self.open_copy(model)
        change(mine / changed)
        for method in ("analyze", "fold"):
            answer = served.answer(served.send(method, {"verify": True} if method == "fold" else None))
            if "error" in answer:
                self.assertEqual(len(answer["error"]["message"].splitlines()), 1, answer)
        out = self.out_folder / ("out" + (mine / model).suffix)
        served.refused("export", {"path": str(out), "force": True})
        self.nothing_left_but_scratch()
        served.ask("open", {"path": str(MODELS["small.pt"])})
        served.shutdown()
