"""A folder of each family of transformers is folded to a folder that both classes run, in float64 and in bfloat16.

    run_tests.py test_checkpoint_families.py ENGINE
"""

import pathlib
import tempfile
import unittest

from checkpoints import IDS, IMAGE, WAVES, assert_equal_in_float64, assert_equal_within_rounding, loaded, model_of, rms_norms, saved

import normlens
import torch

DECODED = {"decoder_input_ids": IDS["input_ids"]}
STAGES = {"hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 1, 1], "num_stages": 4, "patch_size": 4}
LM, CLASSES, PAIRS = "AutoModelForCausalLM", "AutoModelForImageClassification", "AutoModel"
# Class -> auto class, inputs, options of its configuration, LayerNorms that fold, LayerNorms that stay and why, in a part of it.
FAMILIES = {
    "GPT2LMHeadModel": (LM, IDS, {}, 5, 0, ""),
    "OPTForCausalLM": (LM, IDS, {}, 5, 0, ""),
    "GPTNeoXForCausalLM": (LM, IDS, {}, 5, 0, ""),
    "GPTJForCausalLM": (LM, IDS, {"rotary_dim": 4}, 3, 0, ""),
    "PhiForCausalLM": (LM, IDS, {}, 3, 0, ""),
    "FalconForCausalLM": (LM, IDS, {}, 3, 0, ""),
    "MptForCausalLM": (LM, IDS, {}, 5, 0, ""),
    "Starcoder2ForCausalLM": (LM, IDS, {}, 5, 0, ""),
    "StableLmForCausalLM": (LM, IDS, {}, 5, 0, ""),
    "BloomForCausalLM": (LM, IDS, {}, 1, 5, "no centering"),  # its stream begins with a LayerNorm
    "ModernBertForMaskedLM": ("AutoModelForMaskedLM", IDS, {}, 1, 5, "no centering"),  # likewise
    "BertForMaskedLM": ("AutoModelForMaskedLM", IDS, {}, 1, 5, "not zero-mean"),  # norms behind norms
    "ViTForImageClassification": (CLASSES, IMAGE, {}, 5, 0, ""),
    "Dinov2ForImageClassification": (CLASSES, IMAGE, {}, 5, 0, ""),
    "ConvNextForImageClassification": (CLASSES, IMAGE, STAGES, 1, 8, "mixes the norm's channels"),  # a depthwise convolution
    "SiglipModel": (PAIRS, {**IDS, **IMAGE}, {}, 10, 1, "not linear"),  # the norm of its outputs is taken
    "CLIPModel": (PAIRS, {**IDS, **IMAGE}, {"projection_dim": 16}, 6, 5, "not zero-mean"),  # a norm before the first layer
    "WhisperForConditionalGeneration": (
        "AutoModelForSpeechSeq2Seq", {**WAVES, **DECODED}, {"max_source_positions": 16}, 7, 5, "no centering"
    ),  # GELU before its encoder
}


class Families(unittest.TestCase):
    def judge(self, dtype, compare):
        for name, (auto, inputs, options, folds, stay, why) in FAMILIES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                source, output = saved(model_of(name, dtype, **options), f"{folder}/source"), pathlib.Path(folder, "folded")
                report = normlens.fold_folder(source, output)
                self.assertEqual((len(report.folded), len(report.kept)), (folds, stay), report)
                self.assertEqual(any(why in reason for reason in report.kept.values()), stay > 0, report.kept)
                original = loaded(self, source, auto, dtype, False)
                with_norms, unchanged = (loaded(self, output, auto, dtype, trusted) for trusted in (True, False))
                self.assertEqual(rms_norms(with_norms), sorted(report.folded, key=rms_norms(with_norms).index))
                self.assertEqual((type(unchanged), rms_norms(unchanged)), (type(original), []))
                for model in (with_norms, unchanged):
                    compare(self, model, loaded(self, source, auto, dtype, False), inputs)

    def test_both_classes_are_equal_in_float64(self):
        self.judge(torch.float64, assert_equal_in_float64)

    def test_both_classes_are_equal_in_bfloat16_within_rounding(self):
        self.judge(torch.bfloat16, assert_equal_within_rounding)
