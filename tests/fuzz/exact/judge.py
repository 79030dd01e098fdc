"""One case from its steps to a judgement: written, opened, analysed, folded, exported, compared."""

import collections
import re

import ml_dtypes
import numpy

import oracle
from holds import is_claimed
from onnx_file import OnnxWriter
from runs import open_file
from served import Died, Refused
from torchscript import TorchScriptWriter

WRITERS = {"torchscript": (TorchScriptWriter, ".pt"), "onnx": (OnnxWriter, ".onnx")}


def storable(array):
    """.npz knows no bfloat16; whoever reads them gives inputs the model's type."""
    return array.astype(numpy.float32) if array.dtype == ml_dtypes.bfloat16 else array


class Judgement:
    """kind: ok, or what is wrong: wrong, verdict, crash, refused, load, state. unrun, unwritten: the case itself."""

    def __init__(self, kind, detail="", verdicts=(), folded=0, compared=0, reasons=()):
        self.kind, self.detail, self.verdicts = kind, detail, list(verdicts)
        self.folded, self.compared, self.reasons = folded, compared, list(reasons)
        self.undecided = False  # neither proved nor refuted
        self.told = False  # other outputs in a run that breaks a condition of the fold
        self.worse = False  # refused for its type, and right so
        self.ratio = 0  # of the fold's error to the original's own
        self.simplest = {}  # by step: its choices at their simplest

    @property
    def failed(self):
        return self.kind not in ("ok", "unrun", "unwritten")

    @property
    def signature(self):
        """What stays the same of a failure while its case shrinks."""
        about = self.detail.split(":")[0] if self.kind in ("verdict", "refused") else ""
        return self.kind, re.sub(r"[^a-z ]+", "", about)


def refuted_for_type(verify):
    """Float64 shows no difference."""
    return verify and verify["exact"] is False and float(verify["algebra"]["max_rel"]) <= oracle.TOLERANCE["float64"]


class Judge:
    def __init__(self, engine, folder):
        self.engine, self.folder = engine, folder

    def judge(self, case):
        done = self.written_and_run(case)
        done.simplest = self.written.simplest
        # An original in less than float64 can itself be far off, of a mask of -1e4 in float16: then float64 decides.
        if done.kind == "wrong" and "noise" in done.detail and case["type"] != "float64":
            decided = self.judge(case | {"type": "float64"})
            return decided if decided.kind != "wrong" else done
        return done

    def written_and_run(self, case):
        make, suffix = WRITERS[case["format"]]
        self.original, self.folded, self.wide = (self.folder / f"{name}{suffix}" for name in ("case", "folded", "wide"))
        self.folded.unlink(missing_ok=True)
        self.written = make(case)
        try:
            self.written.write()
            self.written.save(self.original)
        except (RuntimeError, ValueError) as problem:
            return Judgement("unwritten", str(problem))
        sample = next(oracle.trials(case, self.written))[1]
        try:
            runs = open_file(self.original).run(sample)
        except Exception as problem:
            return Judgement("unrun", str(problem).strip().splitlines()[-1][:200])
        if not all(numpy.isfinite(one).any() for one in runs):
            return Judgement("unrun", "an output without a finite number")
        try:
            return self.asked(case, sample)
        except Died as problem:
            return Judgement("crash", str(problem)[:200])
        except Refused as problem:
            return Judgement("refused", str(problem)[:200])

    def asked(self, case, sample):
        ask = self.engine.ask
        ask("open", {"path": str(self.original)})
        npz = self.folder / "sample.npz"
        if case["given"]:
            names = {name: name if case["format"] == "onnx" else f"in_{i}" for i, name in enumerate(sample)}
            numpy.savez(npz, **{names[name]: storable(value) for name, value in sample.items()})
            ask("set_inputs", {"npz": str(npz)})
        analysis = ask("analyze")
        if analysis["probe_error"]:
            return Judgement("refused" if case["given"] else "ok", f"analyze: {analysis['probe_error']}")
        fold = ask("fold", {"plan": {"policy": case["policy"]}, "norm": case["norm"]})
        verdicts = [norm["verdict"] for norm in analysis["norms"]]
        done = Judgement("ok", "", verdicts, len(fold["plan"]["folded"]),
                         reasons=[norm["reason"] for norm in analysis["norms"] if norm["verdict"] == "blocked"])
        done.kind, done.detail = self.kept(case, analysis, fold)
        if case["type"] in ("float16", "bfloat16") and refuted_for_type(fold["verify"]):
            scale = re.search("with inputs (.*) times as large", fold["reason"])
            worse = self.times_worse(case, *(float(scale[1]), -float(scale[1])) if scale else (1,))
            done.worse = worse > oracle.YARDSTICK
            done.kind = "ok" if done.worse else "verdict"
            done.detail += f"; {worse:.3g} times its original's error"
        if not fold["ok"]:
            done.undecided, done.folded = done.kind == "ok" and done.folded > 0, 0
            return done
        done.undecided = fold["verify"]["exact"] is None
        verify = fold["verify"]
        if verify["errors"] and verify["noise_floor"]:
            own = max(float(verify["errors"]["original"]), float(verify["noise_floor"]))
            done.ratio = float(verify["errors"]["folded"]) / own
        ask("export", {"path": str(self.folded), "norm": case["norm"]})
        done.kind, done.detail = self.compared(case, fold, done) or (done.kind, done.detail)
        return done

    def times_worse(self, case, *scales):
        self.engine.ask("fold", {"plan": {"policy": case["policy"]}, "norm": case["norm"], "verify": False})
        self.engine.ask("export", {"path": str(self.folded), "norm": case["norm"]})
        files = open_file(self.original), open_file(self.folded), self.in_float64(case)
        return max(oracle.times_worse(case, self.written, *files, scale) for scale in scales)

    def in_float64(self, case):
        """A file that computes in float64 with what the original stores."""
        WRITERS[case["format"]][0](case | {"type": "float64", "stored": case["type"]}).write().save(self.wide)
        return open_file(self.wide)

    def kept(self, case, analysis, fold):
        """Whether the fold keeps the verdicts."""
        verify = fold["verify"] or {}
        if verify.get("exact") is False:
            far = ", ".join(f"{part} {float(verify[part]['max_rel']):.1e}" for part in ("algebra", "file"))
            return "verdict", f"refuted: {fold['reason']} ({far})"
        if "is not finite anywhere" in (fold["reason"] or ""):
            return "ok", fold["reason"]  # nothing can be said of such numbers
        if fold["plan"]["folded"] and not fold["ok"]:
            return "verdict", f"not ok: {fold['reason']}"
        kept = {"free": ("free",), "all": ("free", "with_centering")}.get(case["policy"], ())
        for norm in analysis["norms"]:
            if norm["verdict"] in kept and norm["index"] not in fold["plan"]["folded"]:
                return "verdict", f"unfolded: {norm['name']} is {norm['verdict']}; {fold['reason']}"
        return "ok", ""

    def compared(self, case, fold, done):
        """What is wrong with the written file."""
        try:
            original, folded = open_file(self.original), open_file(self.folded)
        except Exception as problem:
            return "load", str(problem).strip().splitlines()[-1][:200]
        after = folded.state()
        other = [name for name, value in original.state().items() if not numpy.array_equal(value, after.get(name))]
        if other:
            return "state", ", ".join(other)
        for difference in oracle.differences(case, self.written, original, folded, done):
            if is_claimed(fold, difference.inputs) and not self.overflows_inside(case, difference.inputs):
                return "wrong", f"{difference.label}: {difference.error}"
            done.told = True
        return None

    def overflows_inside(self, case, inputs):
        """ONNX Runtime computes runs of ops in float32: its outputs do not show that float16 ends between them."""
        if case["type"] != "float16" or case["format"] != "onnx":
            return False
        return self.in_float64(case).largest_inside(oracle.in_float64(inputs)) > numpy.finfo(numpy.float16).max


class Tally:
    """That the cases are not trivially blocked, or not run at all."""

    def __init__(self):
        self.kinds, self.verdicts, self.reasons = collections.Counter(), collections.Counter(), collections.Counter()
        self.folded = self.compared = self.told = self.undecided = self.worse = self.ratio = 0

    def add(self, done):
        self.kinds[done.kind] += 1
        self.verdicts.update(done.verdicts)
        self.reasons.update(re.sub(r"(?<!\w)[\w.]*[\d._][\w.]*", "…", reason) for reason in done.reasons)
        self.folded += done.folded
        self.compared += done.compared
        self.told += done.told
        self.ratio = max(self.ratio, done.ratio)
        self.undecided += done.undecided
        self.worse += done.worse

    def text(self):
        said = [", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())]
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.most_common())
        said.append(f"LayerNorms: {sum(self.verdicts.values())}, {verdicts}; {self.folded} folded")
        said.append(f"{self.compared} runs compared; {self.undecided} folds undecided; {self.told} models differ where "
                    "a condition (holds_if) is broken")
        said.append(f"{self.worse} folds refused that are off by more than {oracle.YARDSTICK} times what their "
                    "original is off by, in its type")
        said.append(f"in a file's own type, folds are off by at most {self.ratio:.3g} times the original's own error")
        said += [f"{count:6} {reason}" for reason, count in self.reasons.most_common(12)]
        return "\n".join(said)
