#!/usr/bin/env python3
"""What names the project's version beside CMakeLists.txt names the same.

    run_tests.py test_repository.py
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Repository(unittest.TestCase):
    def test_the_citation_is_of_this_version(self):
        version = re.search(r"^project\(normlens VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
        citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
        self.assertIn(f"\nversion: {version}\n", citation)
        self.assertEqual(citation.count("type: article"), 4)
