"""One engine process and its requests: JSON-RPC 2.0 over its stdin and stdout."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from typing import Any, Callable, Mapping, Optional

from normlens.engine.frames import read_frame, write_frame
from normlens.engine.program import Path, environment_for, find_engine
from normlens.errors import EngineDied, EngineError

PROTOCOL = 6  # core/protocol/messages.h

# The arguments of this package that a hint of the engine ends in, by its key (core/base/words/hint.h).
PLACES = {
    "inputs": " with example_inputs",
    "time_limit": " with time_limit",
    "time_or_inputs": " with time_limit, or give inputs with example_inputs",
    "portable_norm": ' with norm="portable"',
}

Progress = Callable[[str, float], None]  # stage, fraction done (negative: unknown)


class Client:
    """A context manager; the process ends with it. One request at a time, of one thread."""

    def __init__(self, engine: Optional[Path] = None, progress: Optional[Progress] = None, torch_first: bool = False) -> None:
        """torch_first: the engine loads LibTorch at once, and who asks for `info` waits for it. Raises EngineNotFound, EngineDied,
        EngineError (another version of the protocol)."""
        self.program = find_engine(engine)
        self._progress = progress
        self._last_id = 0
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                [self.program, "serve", *(["--torch-first"] if torch_first else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment_for(self.program),
            )
        except OSError as error:
            self._errors.close()
            raise EngineDied(f"the engine {self.program} could not be started: {error.strerror}") from error
        if torch_first:
            return
        try:
            self.info  # is asked for
        except BaseException:
            self.close()
            raise

    @functools.cached_property
    def info(self) -> Any:
        """EngineInfo; first of all requests. Raises EngineError (another version of the protocol), EngineDied."""
        return self.request("initialize", protocol=PROTOCOL, client="normlens for Python")

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(self, method: str, **params: Any) -> Any:
        """Its result. Raises EngineError with the engine's message, EngineDied."""
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            write_frame(self._process.stdin, message)
            while True:
                reply = read_frame(self._process.stdout)
                if reply is None:
                    raise self._died(method)
                if reply.get("id") == self._last_id and "method" not in reply:
                    return _result_of(reply)
                self._tell(reply)
        except (OSError, ValueError) as error:
            raise self._died(method) from error

    def close(self) -> None:
        """Ends the process, also one that does not answer."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            try:
                self._process.stdin.close()
            except OSError:
                pass  # it has died, with bytes on the way
        try:
            self._process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tell(self, message: Any) -> None:
        if self._progress is not None and message.get("method") == "$/progress":
            params = message.get("params", {})
            self._progress(params.get("stage", ""), params.get("fraction", -1.0))

    def _died(self, method: str) -> EngineDied:
        try:
            status: Optional[int] = self._process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            status = None
        how = "closed its output"
        if status is not None:
            how = f"ended with code {status}" if status >= 0 else f"was ended by signal {-status}"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        said = f"; it said: {lines[-1]}" if lines else ""
        return EngineDied(f"the engine {self.program} {how} while it was asked to {method.replace('_', ' ')}{said}")


def hint_text(hint: Mapping[str, str]) -> str:
    return hint["words"] + PLACES.get(hint["key"], "")


def _result_of(reply: Any) -> Any:
    error = reply.get("error")
    if error is None:
        return reply.get("result")
    data = error.get("data") or {}
    code = data.get("code", error.get("code", ""))
    raise EngineError(error.get("message", "the engine refused"), str(code), hint_text(data["hint"]) if "hint" in data else "")
