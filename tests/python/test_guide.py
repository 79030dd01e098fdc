"""docs/python.md and docs/checkpoints.md say what happens: their examples are run, and give what is shown, up to rounding.

    run_tests.py test_guide.py ENGINE [--show]      --show prints what they give
"""

import contextlib
import doctest
import importlib.util
import os
import re
import sys
import tempfile
import unittest

from package import ROOT, need_torch

need_torch()

os.environ["COLUMNS"] = "130"
ROUNDING = re.compile(r"\d\.\de-\d\d")


class Checker(doctest.OutputChecker):
    def check_output(self, want, got, flags):
        return super().check_output(ROUNDING.sub("#", want), ROUNDING.sub("#", got), flags)


class Guide(unittest.TestCase):
    def judge(self, name, least):
        # A fence ends what an example gives.
        text = (ROOT / "docs" / name).read_text(encoding="utf-8").replace("\n```\n", "\n\n")
        examples = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
        self.assertGreater(len(examples.examples), least)
        told = []
        doctest.DocTestRunner(Checker(), verbose="--show" in sys.argv).run(examples, out=told.append)
        self.assertEqual(told if "--show" not in sys.argv else print("".join(told)) or [], [], "".join(told))

    def test_python(self):
        self.judge("python.md", 15)

    def test_checkpoints(self):
        if importlib.util.find_spec("transformers") is None:
            self.skipTest("transformers is not installed: packaging/test installs it")
        folder = self.enterContext(tempfile.TemporaryDirectory())
        os.environ["HF_MODULES_CACHE"] = os.path.join(folder, "modules")  # where transformers copies code that is trusted
        self.enterContext(contextlib.chdir(folder))
        self.judge("checkpoints.md", 12)
