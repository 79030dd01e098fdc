"""Makes a failing case small: fewer steps, simpler choices, plainer surroundings, while it fails in the same way."""

import copy
import json

PLAIN = (("type", "float64"), ("even", True), ("overridable", False), ("policy", "free"), ("norm", "portable"),
         ("given", True), ("declared", "names"), ("opset", 23), ("B", 2), ("T", 3), ("S", 2), ("D", 2), ("D", 4),
         ("n", 1), ("n", 2), ("flag", False))


def smaller(case, simplest):
    """Cases that are smaller in one way. `simplest`: by step, the simplest of each of its choices."""
    for i in reversed(range(len(case["steps"]))):
        yield without(case, i)
    for key, value in PLAIN:
        yield case | {key: value}
    for i, one in enumerate(case["steps"]):
        changes = [{"of": 0}, {"and": 0}]
        changes += [{"choices": one["choices"] | {name: value}} for name, value in simplest.get(one["id"], {}).items()]
        for change in changes:
            yield case | {"steps": case["steps"][:i] + [one | change] + case["steps"][i + 1:]}


def without(case, i):
    steps = copy.deepcopy(case["steps"])
    gone = steps.pop(i)
    for one in steps:
        for which in ("of", "and"):
            one[which] = gone["of"] if one[which] == gone["id"] else one[which]
    return case | {"steps": steps}


def minimised(case, done, judge, tries=150):
    tried = {json.dumps(case, sort_keys=True)}
    found = True
    while found:
        found = False
        for less in smaller(case, done.simplest):
            key = json.dumps(less, sort_keys=True)
            if key in tried:
                continue
            tried.add(key)
            if len(tried) > tries:
                break
            now = judge(copy.deepcopy(less))
            if now.failed and now.signature == done.signature:
                case, done, found = less, now, True
                break
    return asked(case, done.simplest), done


def asked(case, simplest):
    """With those choices alone that its steps still make."""
    kept = [one | {"choices": {name: value for name, value in one["choices"].items() if name in simplest[one["id"]]}}
            for one in case["steps"]]
    return case | {"steps": kept}


def shown(case):
    """One line."""
    steps = []
    for one in case["steps"]:
        choices = " ".join(name if value is True else f"{name}={value}"
                           for name, value in one["choices"].items() if value is not False)
        steps.append(f"{one['id']}={one['do']}({one['of']},{one['and']}; {choices})")
    keys = ["type", "D", "B", "T", "policy", "norm", "given"]
    keys += ["declared", "opset"] if case["format"] == "onnx" else []
    return " ".join([*(f"{key}={case[key]}" for key in keys), "|", *steps])
