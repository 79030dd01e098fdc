"""Methods besides forward that call what a fold changed: no run of the proof calls them."""

from __future__ import annotations

import contextlib
import inspect
import re
from typing import Collection, List

from torch import nn


def others_calling(module: nn.Module, changed: Collection[str]) -> List[str]:
    """Public methods of classes that are not torch's, whose source calls a submodule on the way to one of these names of
    parameters and modules: self.embed(x) or self.blocks[0](x)."""
    found: List[str] = []
    for path, part in module.named_modules():
        prefix = f"{path}." if path else ""
        within = {re.escape(name[len(prefix) :].split(".")[0]) for name in changed if name.startswith(prefix)}
        call = re.compile(rf"\.({'|'.join(within)})(\[.*\])?\(")
        for name, method in inspect.getmembers(type(part), inspect.isfunction) if within else ():
            own = not name.startswith("_") and not hasattr(nn.Module, name) and not method.__module__.startswith("torch.")
            with contextlib.suppress(OSError):  # a method without a source
                if own and call.search(inspect.getsource(method)):
                    found.append(f"{type(part).__name__}.{name}")
    return list(dict.fromkeys(found))
