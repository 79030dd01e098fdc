"""Where the sample models are, and how the engine is called on them."""

import atexit
import functools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

ENGINE = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("NORMLENS_SHARED", REPOSITORY.parent / "shared"))
MODELS = SHARED / "models"


class ForkServer:
    """An engine that is loaded once and runs each command in a child of its own: tests/support/fork_server.cpp."""

    def __init__(self, preloaded):
        self.folder = tempfile.TemporaryDirectory()
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = dict(os.environ, LD_PRELOAD=preloaded, NORMLENS_FORK_SERVER=str(other.fileno()))
        self.process = subprocess.Popen([ENGINE], env=environment, pass_fds=[other.fileno()], start_new_session=True)
        other.close()
        atexit.register(self.end)

    def end(self):
        self.socket.close()
        self.process.wait()

    def run(self, words, timeout):
        """As subprocess.run() does it; what runs out of time ends the server."""
        streams = [pathlib.Path(self.folder.name) / name for name in ("stdout", "stderr")]
        request = [pathlib.Path.cwd(), *streams, *words]
        self.socket.settimeout(timeout)
        try:
            self.socket.send(b"".join(os.fsencode(word) + b"\0" for word in request))
            answer = self.socket.recv(4)
        except TimeoutError:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        status = os.waitstatus_to_exitcode(int.from_bytes(answer, sys.byteorder))
        return subprocess.CompletedProcess(words, status, *(stream.read_text() for stream in streams))


FORK_SERVER = os.environ.get("NORMLENS_FORK_SERVER_LIBRARY")  # not every build has one
idle_servers = []  # one for each command that runs at a time


def run_engine(words, timeout):
    if not FORK_SERVER:
        return subprocess.run([ENGINE, *words], capture_output=True, text=True, timeout=timeout, check=False)
    server = idle_servers.pop() if idle_servers else ForkServer(FORK_SERVER)
    done = server.run(words, timeout)
    idle_servers.append(server)
    return done


def engine(*words, timeout=120):
    """-> (exit status, the JSON object on stdout, stderr)"""
    done = run_engine([*map(str, words), "--json"], timeout)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr


def ran(test, *words, expected=0):
    """-> the JSON object of a call that ends with this exit status"""
    status, result, errors = engine(*words)
    test.assertEqual(status, expected, f"{errors} {result}")
    return result


def load_operators():
    """Ours, for this process's torch."""
    import torch

    torch.ops.load_library(engine("doctor")[1]["ops_library"])


def facts(name):
    return json.loads((MODELS / "visible" / f"{name}.json").read_text())


def base(path):
    """mlp.script.pt -> mlp"""
    return path.name.split(".")[0]


@functools.cache
def analyzed(path, inputs):
    """As engine() does it, once for each file: what a test writes, it analyzes only when the file is done."""
    return engine("analyze", path, "--inputs", inputs)


def written_out(path, inputs):
    """How many LayerNorms and RMSNorms are written out in several ops, in their own formula."""
    analysis = analyzed(path, inputs)[1]
    others = [norm for norm in analysis["other_norms"] if "another formula" not in norm["kind"]]
    return sum(norm["form"] == "decomposed" for norm in analysis["layer_norms"] + others)


def verdicts(test, path, inputs):
    """Of the LayerNorms, by name."""
    status, analysis, errors = analyzed(path, inputs)
    test.assertEqual(status, 0, errors)
    return {norm["name"]: norm["verdict"] for norm in analysis["layer_norms"]}
