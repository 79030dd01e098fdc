"""docs/python.md says what happens: its examples are run, and give what it shows, up to what rounding decides.

    test_guide.py ENGINE [--show]      --show prints what they give
"""

import doctest
import os
import re
import sys
import unittest

from package import ROOT, need_torch

need_torch()

os.environ["COLUMNS"] = "130"
GUIDE = ROOT / "docs" / "python.md"
ROUNDING = re.compile(r"\d\.\de-\d\d")


class Checker(doctest.OutputChecker):
    def check_output(self, want, got, flags):
        return super().check_output(ROUNDING.sub("#", want), ROUNDING.sub("#", got), flags)


class Guide(unittest.TestCase):
    def test_examples(self):
        # A fence ends what an example gives.
        text = GUIDE.read_text(encoding="utf-8").replace("\n```\n", "\n\n")
        examples = doctest.DocTestParser().get_doctest(text, {}, "python.md", str(GUIDE), 0)
        self.assertGreater(len(examples.examples), 15)
        told = []
        doctest.DocTestRunner(Checker(), verbose="--show" in sys.argv).run(examples, out=told.append)
        self.assertEqual(told if "--show" not in sys.argv else print("".join(told)) or [], [], "".join(told))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
