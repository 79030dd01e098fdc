#!/usr/bin/env python3
"""docs/api.md is what packaging/write_api.py makes of the package's docstrings.

    run_tests.py test_api.py      with a Python that has numpy
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "packaging"))
import write_api


class Api(unittest.TestCase):
    def test_the_page_is_written_anew_where_a_docstring_changed(self):
        self.assertEqual(write_api.PAGE.read_text(encoding="utf-8"), write_api.page(), "run packaging/write_api.py")

    def test_every_public_name_has_an_entry_with_words(self):
        page = write_api.page()
        import normlens

        for name in normlens.__all__:
            words = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
            self.assertRegex(words, r"(?m)^\w.*[.:]", name)
