"""Random modules, folded and held against the original at other inputs, sizes and arguments.

    fuzz_modules.py ENGINE [-n 1000] [--seed 0]

A call that the guard of the contract accepts must give the original's outputs. The last line has the figures; exit status 1:
something failed, and its seed was printed.
"""

import argparse
import collections
import copy
import sys
import time
import warnings

import package

package.need_torch()

import torch

import normlens
from normlens.module.compare import pairs, relative
from random_modules import random_module

POLICIES = ("balanced", "free", "all")
SIZES = ((1, 2), (2, 1), (3, 4), (2, 2), (4, 12), (5, 17), (2, 0), (1, 1501))


def apart(one, other):
    """In float64 what is not equal; in float32 what no rounding of these small modules explains."""
    limit = 1e-9 if all(a.dtype == torch.float64 for a, _ in pairs(one, other)) else 2e-3
    return relative(one, other) > limit


def judged(seed, tally):
    """What is wrong, or None."""
    module, example = random_module(seed)
    policy = POLICIES[seed % 3]
    try:
        folded, report = normlens.fold(copy.deepcopy(module), example, policy=policy, guard="raise")
    except normlens.NormLensError as error:
        tally[type(error).__name__] += 1
        return None if isinstance(error, (normlens.NotEqual, normlens.ExportFailed)) else str(error)
    tally["norms"] += len(report)
    tally["folded"] += sum(norm.folds for norm in report)
    tally["modules folded"] += bool(report.folded)
    foreseen = normlens.analyze(module, example, policy=policy) if seed % 5 == 0 else report
    differ = [norm.name for norm, known in zip(report, foreseen) if known != norm]
    if differ:
        return f"analyze foresaw another fold of {differ}"
    for batch, tokens in (tuple(example[0].shape[:2]), *SIZES) if report.folded else ():
        for other in (False, True):
            given = module.inputs(seed + 1, batch, tokens, other)
            problem = compared(module, folded, given, tally)
            if problem:
                return f"{problem} at {batch} x {tokens}, {given[1]!r}; policy {policy}"
    return trained(seed, module, example, tally) if seed % 4 == 0 else None


def compared(module, folded, given, tally):
    with torch.no_grad():
        try:
            truth = module(*given)
        except Exception:
            return None  # the original takes no such call
        try:
            result = folded(*given)
        except normlens.OutsideContract:
            unguarded = normlens.unguard(copy.deepcopy(folded))
            tally["outside"] += 1
            tally["outside, differ"] += apart(unguarded(*given), truth)
            return None
    tally["compared"] += 1
    return f"differs by {relative(result, truth):.1e}" if apart(result, truth) else None


def trained(seed, module, example, tally):
    """The training form, and back: outputs as before."""
    before = module(*example)
    try:
        module, report = normlens.cbwc(module, example)
    except normlens.NotEqual:
        tally["NotEqual of cbwc"] += 1
        return "cbwc did not undo" if apart(module(*example), before) else None
    tally["training forms"] += bool(report.folded)
    if apart(module(*example), before) or apart(normlens.uncbwc(module)(*example), before):
        return "cbwc or uncbwc changed the outputs"
    return None


def main():
    parser = argparse.ArgumentParser("fuzz_modules")
    parser.add_argument("engine")
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first module; the next has the next")
    words = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    tally, failed, start = collections.Counter(), 0, time.monotonic()
    for seed in range(words.seed, words.seed + words.n):
        try:
            problem = judged(seed, tally)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            failed += 1
            print(f"seed {seed}: {problem}", flush=True)
    figures = ", ".join(f"{name} {count}" for name, count in sorted(tally.items()))
    print(f"{words.n} modules from seed {words.seed} in {time.monotonic() - start:.0f} s: {failed} failed; {figures}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
