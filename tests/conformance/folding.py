"""One sample folded and judged: what the conformance tests of all formats share.

Each sample's JSON names how many LayerNorms are known to fold by weights alone and with run-time centerings; these are
lower bounds. A half type has no float64 oracle beyond its own rounding: the oracle judges it against a noise floor.
"""

import pathlib
import sys
import tempfile

from samples import MODELS, base, engine, facts


def oracle(original, folded):
    """Its verdict on the sample's inputs and on those of another size. Imported once: starting torch takes seconds."""
    import torch

    if str(MODELS) not in sys.path:
        sys.path.insert(0, str(MODELS))
    from oracle import check

    inputs = original.parent / f"{base(original)}.inputs.npz"
    other = original.parent / f"{base(original)}.alt.npz"
    with torch.jit.optimized_execution(False):
        return check(str(original), str(folded), str(inputs), n=1, alt=str(other))


def fold_and_judge(test, path, policy, least, further=None):
    """`further(test, original, folded, result)`: what a format has to say beyond this."""
    inputs = path.parent / f"{base(path)}.inputs.npz"
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / f"out{path.suffix}"
        status, result, errors = engine("fold", path, "-o", out, "--inputs", inputs, "--policy", policy)
        test.assertEqual(status, 0, f"{errors} {result}")
        test.assertGreaterEqual(result["folded"], least, errors)
        if result["folded"] == 0:
            test.assertIsNone(result["output"])
            test.assertFalse(out.exists())
            return
        test.assertIs(result["verify"]["exact"], True, result["verify"])
        judged = oracle(path, out)
        test.assertTrue(judged["exact"], judged)
        test.assertTrue(judged["interface"]["same"] and not judged["errors"], judged)
        # These policies copy tied weights without a limit; the file may grow by what was announced and no more.
        size = judged["size"]
        test.assertLessEqual(size["folded_bytes"] - size["original_bytes"], result["bytes_grown"] + 1024, judged)
        if further:
            further(test, path, out, result)


def policies(path):
    """(policy, how many LayerNorms at least)"""
    known = facts(base(path))
    by_weights, with_centering = known["fold_weights_only"] or 0, known["fold_with_aux"] or 0
    rows = [("free", by_weights)]
    if with_centering > by_weights or known["layer_norms"] > by_weights:
        rows.append(("all", with_centering))
    return rows


def add_cases(case, suffix, further=None):
    for path in sorted((MODELS / "visible").glob("*" + suffix)):
        for policy, least in policies(path):
            name = "test_" + path.name.replace(".", "_") + "_" + policy
            setattr(
                case,
                name,
                lambda self, path=path, policy=policy, least=least: fold_and_judge(self, path, policy, least, further),
            )
