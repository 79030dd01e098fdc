"""What `serve` can be at when something happens to it."""

from engine import MODELS

# Of a measurement that is over at once.
SHORT = {"a": "original", "b": "folded", "rounds": 1, "iterations": 1, "warmup": 1}


class Stage:
    def __init__(self, name, method, progress, params=None, again=None):
        self.name, self.method, self.progress = name, method, progress
        self.params, self.again = params, again if again is not None else params


STAGES = [
    Stage("open", "open", "reading"),
    Stage("open_beside", "open", "reading"),
    Stage("analyze", "analyze", "running the model once"),
    Stage("fold", "fold", "centering weights", {"verify": False}),
    Stage("verify", "fold", "verifying", {"verify": True}),
    Stage("bench", "bench", "measuring", SHORT | {"rounds": 10000}, SHORT),
    Stage("export", "export", "writing"),
]


def reach(served, stage, model, out):
    """Up to where the stage's request can be sent. Returns what it is asked for."""
    served.begin()
    if stage.name == "open":
        return {"path": str(model)}
    served.ask("open", {"path": str(model)})
    if stage.name == "open_beside":
        return {"path": str(MODELS["small.pt"])}
    if stage.name == "analyze":
        return None
    served.ask("analyze")
    if stage.method == "fold":
        return stage.params
    served.ask("fold", {"verify": False})
    return stage.params if stage.name == "bench" else {"path": str(out), "force": True}


def is_answered_in_full(case, stage, result):
    """That a request of the stage did what it was for."""
    if stage.method == "open":
        case.assertTrue(result["graph"]["nodes"])
    elif stage.method == "analyze":
        case.assertTrue(result["norms"])
    elif stage.method == "fold":
        case.assertTrue(result["ok"], result["reason"])
    elif stage.method == "bench":
        case.assertTrue(result["points"])
