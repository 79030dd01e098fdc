"""A client that speaks nonsense, does not listen, or is gone."""

import pathlib
import time
import unittest

from engine import FaultCase, MODELS, cases, expand, frame, is_alive, wait_until

GARBAGE = [
    ("text", b"not a frame\n"),
    ("bytes", bytes(range(256)) * 8),
    ("no_length", b"Content-Type: x\r\n\r\n"),
    ("no_number", b"Content-Length: many\r\n\r\n"),
    ("negative", b"Content-Length: -5\r\n\r\n"),
    ("huge", b"Content-Length: 99999999999999999999\r\n\r\n"),
    ("not_json", b"Content-Length: 9\r\n\r\n{\"broken\""),
    ("not_utf8", b"Content-Length: 4\r\n\r\n\"\xff\xfe\""),
    ("an_array", frame([1, 2, 3])),
    ("no_method", frame({"jsonrpc": "2.0", "params": {}})),
    ("a_reply", frame({"jsonrpc": "2.0", "id": 3, "result": None})),
    ("cancel_of_nothing", frame({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "x"}})),
    ("deep", b"Content-Length: 20000\r\n\r\n" + b"[" * 20000),
]


@expand
class Clients(FaultCase):
    def open_model(self, name="deep.pt"):
        served = self.serve().begin()
        served.ask("open", {"path": str(MODELS[name])})
        return served

    def ends(self, served, seconds, workers):
        self.assertTrue(wait_until(lambda: served.process.poll() is not None, seconds), "it does not end")
        self.assertTrue(wait_until(lambda: not any(map(is_alive, workers)), 2))
        self.nothing_left()

    @cases(*((name, noise) for name, noise in GARBAGE))
    def garbage_while_it_folds(self, noise):
        served = self.open_model("small.pt")
        served.ask("analyze")
        asked = served.send("fold", {"verify": True})
        served.wait_for(lambda: served.heard(asked), 10)
        served.send_bytes(noise)
        answer = served.answer(asked)
        self.assertTrue(answer["result"]["ok"])
        self.assertEqual(served.ask("fold", {"verify": False})["ok"], True)
        served.shutdown()
        self.nothing_left()

    @cases(("fold", "fold", {"verify": True}, "verifying"),
           ("bench", "bench", {"a": "original", "b": "", "rounds": 9999}, "measuring"))
    def leaves(self, method, params, stage):
        served = self.open_model()
        served.ask("analyze")
        asked = served.send(method, params)
        served.wait_for(lambda: served.heard(asked, stage), 20)
        workers = served.workers()
        served.process.stdin.close()
        self.ends(served, 5, workers)

    @cases(("endless_pt", "endless.pt"), ("long_op_pt", "long_op.pt"), ("endless_onnx", "endless.onnx"))
    def leaves_an_endless_run(self, model):
        served = self.open_model(model)
        asked = served.send("analyze")
        served.wait_for(lambda: served.heard(asked), 10)
        time.sleep(0.3)
        workers = served.workers()
        served.process.stdin.close()
        self.ends(served, 5, workers)

    def test_never_reads(self):
        served = self.serve()
        served.send("initialize", {"protocol": 0})
        for _ in range(2000):
            served.send("no_such_method", {"text": "x" * 100})
        wait_until(served.workers, 5)
        workers = served.workers()
        time.sleep(0.5)
        self.assertIsNone(served.process.poll())
        served.process.stdin.close()
        self.ends(served, 5, workers)

    # A reply is 50,000 times as long as its request.
    def test_fetches_and_never_reads(self):
        place = self.folder / "cache" / "normlens" / "exchanged" / ("0" * 32)
        place.mkdir(parents=True)
        (place / "out.pt").write_bytes(bytes(4 << 20))
        self.environment["XDG_CACHE_HOME"] = str(self.folder / "cache")
        served = self.serve()
        for _ in range(300):
            served.send("fetch_chunk", {"path": str(place / "out.pt"), "offset": 0})
        time.sleep(2)
        held = pathlib.Path(f"/proc/{served.process.pid}/status").read_text().split("VmRSS:")[1].split()[0]
        self.assertLess(int(held), 200_000, "kB")
        workers = served.workers()
        served.process.stdin.close()
        self.ends(served, 5, workers)

    def test_2000_requests_at_once(self):
        served = self.open_model("small.pt")
        served.ask("analyze")
        asked = [served.send(("ping", "no_such_method", "plan", "open")[i % 4]) for i in range(2000)]
        for one in asked:
            served.answer(one, 60)
        served.ask("open", {"path": str(MODELS["small.pt"])})
        served.shutdown()
        self.nothing_left()

    @cases(("header", b"Content-Len"), ("body", frame({"jsonrpc": "2.0", "id": 9, "method": "analyze"})[:-7]))
    def half_a_frame(self, some):
        served = self.open_model("small.pt")
        workers = served.workers()
        served.send_bytes(some)
        served.process.stdin.close()
        self.ends(served, 5, workers)

    def test_stdout_is_closed(self):
        served = self.serve()
        served.process.stdout.close()
        wait_until(served.workers, 5)
        workers = served.workers()
        served.send("ping")
        self.ends(served, 5, workers)
