#!/usr/bin/env python3
"""What a verb prints on a terminal and in a pipe: color and progress on the one alone; a reason of many norms once.

    run_tests.py test_terminal.py ENGINE
"""
import os
import pathlib
import pty
import subprocess
import sys
import unittest

ENGINE = pathlib.Path(sys.argv[1]).resolve()
MODEL = pathlib.Path(__file__).parents[2] / "resources" / "models" / "gpt2.pt"
GREEN, CLEARED = "\033[32m", "\r\033[2K"


def on_terminal(*words, **variables):
    ours, theirs = pty.openpty()
    environment = {**{name: value for name, value in os.environ.items() if name != "NO_COLOR"}, "TERM": "xterm", **variables}
    program = subprocess.Popen([ENGINE, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # Linux: nobody has the other end any more
            break
        text += piece
    os.close(ours)
    return program.wait(), text.decode()


class Terminal(unittest.TestCase):
    def test_a_terminal_shows_color_and_progress(self):
        status, text = on_terminal("analyze", MODEL)
        self.assertEqual(status, 0, text)
        self.assertIn(GREEN + "free", text)
        self.assertIn(CLEARED, text)

    def test_no_color_where_it_is_not_wanted(self):
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\033[3", on_terminal("analyze", MODEL, **variables)[1])

    def test_a_pipe_has_neither_and_a_reason_is_said_once(self):
        ran = subprocess.run([ENGINE, "analyze", MODEL], capture_output=True, text=True, check=True)
        self.assertNotIn("\033", ran.stdout + ran.stderr)
        rows = [line.split(maxsplit=1) for line in ran.stdout.splitlines()[1:] if not line.startswith("    ")]
        self.assertEqual(rows[0][0], "LayerNorm")
        self.assertEqual(len(rows), 10)
        self.assertEqual(ran.stdout.count("every path to it ends in a tensor that can be centered"), 1, ran.stdout)
        self.assertTrue(rows[2][1].endswith(f"as {rows[1][0]}"), rows[2])
