"""A model file in an engine: requests about it, in the engine's own words (dicts as core/protocol has them)."""

from __future__ import annotations

import json
import pathlib
from typing import Any, Dict, List, Optional

from normlens.engine.client import Client, Progress
from normlens.engine.program import Path
from normlens.errors import EngineError

Json = Dict[str, Any]


class Session:
    """A context manager over one opened model file.

    info: ModelInfo, with the graph. inputs: a .npz file, or None for those that the file brings or the engine guesses.
    time_limit: seconds that a run may take; 0: the engine's own limits. client: the engine, where it runs already.
    Raises EngineNotFound, EngineDied, EngineError; these the methods raise too.
    """

    def __init__(
        self,
        path: Path,
        inputs: Optional[Path] = None,
        engine: Optional[Path] = None,
        progress: Optional[Progress] = None,
        time_limit: float = 0,
        client: Optional[Client] = None,
    ) -> None:
        self.path = pathlib.Path(path).absolute()
        self.inputs = pathlib.Path(inputs).absolute() if inputs is not None else None
        self._client = client or Client(engine, progress)
        try:
            self.version = str(self._client.info["version"])  # the engine's own
            given = str(self.inputs) if self.inputs is not None else ""
            self.info: Json = self._client.request("open", path=str(self.path), inputs=given, time_limit=time_limit)
        except BaseException:
            self._client.close()
            raise

    @property
    def graph(self) -> Json:
        return self.info["graph"]

    def analyze(self) -> Json:
        """Analysis; first of all requests below."""
        return self._client.request("analyze")

    def plan(self, **params: Any) -> Json:
        """PlanInfo of the plan that PlanParams describe."""
        return self._client.request("plan", **params)

    def zero_mean_graph(self, norm: int) -> Json:
        return self._client.request("zero_mean_graph", norm=norm)

    def fold(self, plan: Json, norm: str) -> Json:
        """FoldResult: the plan applied in the engine, and proved."""
        return self._client.request("fold", plan=plan, norm=norm)

    def export(self, path: Path, norm: str) -> Json:
        """Writes the last fold; refused where it was not proved."""
        return self._client.request("export", path=str(pathlib.Path(path).absolute()), norm=norm)

    def exact_edits(self, plan: Json) -> List[Json]:
        """The edits of the plan that PlanParams describe with their patterns and reads, as a plan file has them, in the order of
        `plan`.

        Raises EngineError, with the reason, where the engine cannot carry its plan out.
        """
        result = self._client.request("fold", plan=plan, verify=False)
        if not changes_anything(result["plan"]):
            raise EngineError(result["reason"])
        return json.loads(self._client.request("plan_text")["text"])["edits"]

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def changes_anything(plan: Json) -> bool:
    return bool(plan["folded"]) or plan["gains_absorbed"] > 0
