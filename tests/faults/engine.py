"""The engine as its users have it: `serve` over pipes, strict about every byte, and the command line."""

import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ENGINE, MODELS_FOLDER = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
MODELS = {path.name: path for path in MODELS_FOLDER.iterdir()}  # of models.py
CANCELLED = -32800
MESSAGES = pathlib.Path(__file__).resolve().parents[2] / "core" / "protocol" / "messages.h"
PROTOCOL = int(re.search(r"kProtocolVersion = (\d+)", MESSAGES.read_text()).group(1))


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def exists(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def children(pid):
    """The oldest first."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid and fields[0] not in "ZX":
            found.append(int(stat.parent.name))
    return sorted(found)


def wait_until(holds, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return bool(holds())


def signal_to(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class FaultCase(unittest.TestCase):
    """With a folder of its own, and a TMPDIR that must be empty at the end."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out_folder, self.scratch = self.folder / "out", self.folder / "tmp"
        self.out_folder.mkdir()
        self.scratch.mkdir()
        self.environment = os.environ | {"TMPDIR": str(self.scratch), "OMP_WAIT_POLICY": "passive"}

    def nothing_left(self, *names):
        """But OUT of these names."""
        self.assertEqual(sorted(path.name for path in self.out_folder.iterdir()), sorted(names))
        self.assertEqual(list(self.scratch.iterdir()), [])

    def serve(self, *before):
        served = Served(self, self.environment, before)
        self.addCleanup(served.kill)
        return served

    def start(self, *words, **options):
        """A command in a process group of its own."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([ENGINE, *map(str, words)], env=self.environment, text=True, start_new_session=True,
                                   **(pipes | options))
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        return process

    def run_engine(self, *words, timeout=60, before=()):
        command = [*before, ENGINE, *map(str, words)]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL)

    def one_line(self, text):
        self.assertEqual(len(text.splitlines()), 1, text)

    def loads(self, *paths):
        for path in paths:
            done = self.run_engine("analyze", path)
            self.assertEqual(done.returncode, 0, done.stderr)


class Served:
    """One `serve`. Anything on its stdout that is no frame, or a second answer, is a failure of the case."""

    def __init__(self, case, environment, before=()):
        self.case = case
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*before, ENGINE, "serve"], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, start_new_session=True)
        self.inbox = queue.Queue()
        self.answers, self.notes, self.faults, self.broken = {}, [], [], 0
        self.last_id = 0
        self.reader = None

    # ---- frames

    def read_on(self):
        self.reader = threading.Thread(target=self.read_frames, daemon=True)
        self.reader.start()

    def read_frames(self):
        stream = self.process.stdout
        while header := stream.readline():
            if not header.startswith(b"Content-Length: ") or stream.readline() != b"\r\n":
                self.inbox.put(AssertionError(f"no frame: {header[:80]}"))
                break
            length = int(header.split(b":")[1])
            body = stream.read(length)
            if len(body) < length:
                self.inbox.put(AssertionError("half a frame at the end"))
                break
            try:
                self.inbox.put(json.loads(body))
            except ValueError:
                self.inbox.put(None)  # was filled up
        self.inbox.put(EOFError())

    def send_bytes(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def notify(self, method, params):
        self.send_bytes(frame({"jsonrpc": "2.0", "method": method, "params": params}))

    def send(self, method, params=None):
        self.last_id += 1
        self.send_bytes(frame({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}))
        return self.last_id

    def take(self, seconds):
        """The next message; None: nothing came."""
        if self.reader is None:
            self.read_on()
        try:
            message = self.inbox.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            return None
        if isinstance(message, EOFError):
            raise AssertionError(f"the engine ended ({self.process.poll()}); {self.told()}")
        if isinstance(message, AssertionError):
            raise message
        if message is None:
            self.broken += 1
        elif "method" in message or message["id"] is None:
            self.notes.append(message)
        elif message["id"] in self.answers:
            raise AssertionError(f"answered twice: {message}")
        else:
            self.answers[message["id"]] = message
        return message

    def kill_worker(self, number=signal.SIGKILL):
        """And waits until that was noticed: what is asked of one that is dying is lost with it."""
        self.case.assertTrue(wait_until(self.workers, 5))
        worker = self.workers()[-1]
        signal_to(worker, number)
        self.case.assertTrue(wait_until(lambda: not exists(worker), 3))

    def wait_for(self, holds, seconds):
        end = time.monotonic() + seconds
        while not holds() and time.monotonic() < end:
            self.take(min(end - time.monotonic(), 0.1))
        return holds()

    # ---- requests

    def answer(self, asked, seconds=30):
        began = time.monotonic()
        self.wait_for(lambda: asked in self.answers, seconds)
        took = time.monotonic() - began
        if asked not in self.answers:
            raise AssertionError(f"no answer to request {asked} within {took:.1f} s; {self.told()}")
        return self.answers[asked]

    def ask(self, method, params=None, seconds=30):
        answer = self.answer(self.send(method, params), seconds)
        self.case.assertIn("result", answer, f"{method}: {answer}")
        return answer["result"]

    def refused(self, method, params=None, seconds=30):
        answer = self.answer(self.send(method, params), seconds)
        self.case.assertIn("error", answer, f"{method} was done")
        return sentence(self.case, answer)

    def begin(self):
        self.ask("initialize", {"protocol": PROTOCOL, "client": "faults"})
        return self

    def heard(self, asked, stage=""):
        return any(about.get("id") == asked and stage in about.get("stage", "")
                   for about in (note.get("params", {}) for note in self.notes))

    def workers(self):
        return children(self.process.pid)

    # ---- the end

    def told(self):
        self.log.seek(0)
        return "stderr: " + self.log.read().decode(errors="replace")[-600:]

    def shutdown(self):
        self.case.assertIsNone(self.process.poll(), self.told())
        workers = self.workers()
        self.ask("shutdown", seconds=10)
        self.case.assertEqual(self.process.wait(5), 0, self.told())
        self.case.assertTrue(wait_until(lambda: not any(map(is_alive, workers)), 2))
        self.case.assertLessEqual(self.broken, 1)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.reader:
            self.reader.join(5)
        for stream in (self.process.stdin, self.process.stdout, self.log):
            try:
                stream.close()
            except BrokenPipeError:
                pass


def frame(message):
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def sentence(case, answer):
    message = answer["error"]["message"]
    case.assertTrue(message.strip())
    case.assertEqual(len(message.splitlines()), 1, message)
    return message


def cases(*columns):
    """Decorates a method: a test of its own for each row of (name, ...)."""
    def declare(method):
        method.rows = columns
        return method
    return declare


def expand(suite):
    """Decorates a class: makes the tests of its rows."""
    for name, method in list(vars(suite).items()):
        for row in getattr(method, "rows", ()):
            def test(self, method=method, row=row):
                method(self, *row[1:])
            test.__name__ = f"test_{name}_{row[0]}"
            setattr(suite, test.__name__, test)
    return suite
