"""A client of `normlens-engine serve`: one request at a time, an error is an answer."""

import json
import os
import pathlib
import re
import select
import signal
import subprocess
import tempfile

MESSAGES = pathlib.Path(__file__).resolve().parents[3] / "core" / "protocol" / "messages.h"
PROTOCOL = int(re.search(r"kProtocolVersion = (\d+)", MESSAGES.read_text()).group(1))


class Died(Exception):
    pass


class Refused(Exception):
    pass


class Engine:
    def __init__(self, program):
        self.log = tempfile.TemporaryFile()
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
        self.process = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, env=environment, start_new_session=True)
        self.last = 0
        self.ask("initialize", {"protocol": PROTOCOL, "client": "fuzz"})

    def ask(self, method, params=None, seconds=60):
        self.last += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).encode()
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Died(self.told()) from None
        while True:
            message = self.frame(method, seconds)
            if "method" not in message:
                break
        if message["id"] != self.last:
            raise Died(f"another answer: {message}")
        if "error" in message:
            if "died" in message["error"]["message"] or "crash" in message["error"]["message"]:
                raise Died(message["error"]["message"])
            raise Refused(f"{method}: {message['error']['message']}")
        return message["result"]

    def frame(self, method, seconds):
        stream = self.process.stdout
        if not stream.peek(0) and not select.select([stream], [], [], seconds)[0]:
            raise Died(f"{method}: no answer within {seconds} s")
        header = stream.readline()
        if not header.startswith(b"Content-Length: "):
            raise Died(f"{method}: {header[:80]!r}; {self.told()}")
        stream.readline()
        return json.loads(stream.read(int(header.split(b":")[1])))

    def told(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-300:]

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()
