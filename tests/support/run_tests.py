"""Runs the test cases of a file.

Call: run_tests.py FILE [WORD...]; the file finds the words in sys.argv[1:].
"""

import importlib
import pathlib
import sys
import unittest

del sys.argv[0]
path = pathlib.Path(sys.argv[0]).resolve()
sys.path[0] = str(path.parent)
unittest.main(importlib.import_module(path.stem), argv=[path.name])
