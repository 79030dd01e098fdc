"""Folds every visible TorchScript sample and asks the oracle whether the result is equal."""

import unittest

from folding import add_cases
from samples import MODELS


class Fold(unittest.TestCase):
    pass


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class Samples(unittest.TestCase):
    def test_there_are_samples(self):
        self.assertGreater(len(list((MODELS / "visible").glob("*.pt"))), 40)


add_cases(Fold, ".pt")
