"""The report that the window writes, in a browser: it breaks no rule of its own, and does what a reviewer asks of it."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
import torch

import browser

NORMLENS, MODELS = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
PICTURES = os.environ.get("NORMLENS_PICTURES")  # a folder: pictures of what was tried are kept there
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>" + "_long" * 60


def hostile_model(path):
    """A norm, an output and weights of names that are markup."""
    def weight(name, *shape):
        return onnx.numpy_helper.from_array(numpy.random.default_rng(1).random(shape, numpy.float32), HOSTILE + name)

    value = onnx.helper.make_tensor_value_info
    nodes = [onnx.helper.make_node("MatMul", ["x", HOSTILE + "w"], ["a"]),
             onnx.helper.make_node("LayerNormalization", ["a", HOSTILE + "g", HOSTILE + "b"], [HOSTILE], name=HOSTILE)]
    graph = onnx.helper.make_graph(nodes, HOSTILE, [value("x", 1, [2, 8])], [value(HOSTILE, 1, [2, 8])],
                                   [weight("w", 8, 8), weight("g", 8), weight("b", 8)])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)],
                                      ir_version=8), path)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)

    def forward(self, x):
        return x + self.linear(self.norm(x))


def deep_model(path):
    """More boxes than the page draws one by one."""
    deep = torch.nn.Sequential(torch.nn.Linear(8, 8), *(Block() for _ in range(150)), torch.nn.LayerNorm(8))
    torch.jit.trace(deep.eval(), torch.randn(2, 8)).save(path)


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if browser.PROGRAM is None:
            if os.environ.get("CI"):
                raise RuntimeError("there is no Chromium: packaging/apt-packages.txt names it")
            raise unittest.SkipTest("there is no Chromium to open the page with")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.pages = {"gpt2": cls.report(MODELS / "gpt2.pt")}
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    @classmethod
    def report(cls, model):
        page = cls.folder / (model.stem + ".html")
        done = subprocess.run([NORMLENS, model, "--report", page], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return page

    def open(self, page, fragment=""):
        self.browser.emulate()
        self.browser.open(page.as_uri() + fragment)

    def keep(self, name):
        if PICTURES:
            self.browser.picture(pathlib.Path(PICTURES) / (name + ".png"))

    def viewed(self):
        """The part of the drawing in sight: x, y, width, height."""
        text = self.browser.value("document.querySelector('#picture-1 > svg').getAttribute('viewBox')")
        return [float(number) for number in text.split()]

    def card(self):
        """The texts of the cards that can be seen."""
        return self.browser.value("[...document.querySelectorAll('.card')]"
                                  ".filter((card) => card.offsetHeight > 0).map((card) => card.innerText)")

    def shown(self):
        return self.browser.value("[...document.querySelectorAll('.picture')]"
                                  ".filter((picture) => picture.offsetHeight > 0).map((picture) => picture.id)")

    def in_sight(self, selector):
        x, y = self.browser.middle(selector)
        return self.browser.value(f"Boolean(document.elementFromPoint({x}, {y})?.closest('#view'))")

    def test_it_opens_within_a_second_and_breaks_no_rule(self):
        times = []
        for _ in range(3):
            self.open(self.pages["gpt2"])
            times.append(self.browser.value("performance.getEntriesByType('navigation')[0].duration"))
            self.assertEqual(self.browser.errors(), [])
        self.assertLess(min(times), 1000)
        self.assertLess(self.pages["gpt2"].stat().st_size, 500_000)
        self.keep("light")

    def test_a_script_that_is_not_the_pages_own_is_refused(self):
        page = self.folder / "changed.html"
        text = self.pages["gpt2"].read_text().replace("</main>", "</main><script>document.title = 'ran'</script>")
        page.write_text(text)
        self.open(page)
        self.assertTrue(any("script-src" in error for error in self.browser.errors()))
        self.assertNotEqual(self.browser.value("document.title"), "ran")

    def test_a_click_on_a_norm_shows_its_reason(self):
        self.open(self.pages["gpt2"])
        self.assertEqual(self.card(), [])
        self.browser.click("#picture-1 .spot[href='#norm-0']")
        (text,) = self.card()
        for part in ("h.0.ln_1", "free", "Folded with a centering because a copy of wte.weight", "every path to it",
                     "difference after it, float64", "difference after it, float32", "γ"):
            self.assertIn(part, text)
        self.assertEqual(self.browser.value("location.hash"), "#norm-0")
        self.keep("norm")
        self.browser.click("td a[href='#norm-8']")
        (text,) = self.card()
        self.assertIn("ln_f", text)
        self.assertEqual(self.browser.value("document.querySelectorAll('.spot.chosen').length"), 2, "in both pictures")
        self.assertTrue(self.in_sight("#picture-1 .spot.chosen"), "the table's link brought it into sight")
        self.browser.value("document.getElementById('view').focus()")
        self.browser.key("Escape")
        self.assertEqual(self.card(), [])
        self.assertEqual(self.browser.errors(), [])

    def test_an_address_selects_a_norm(self):
        self.open(self.pages["gpt2"], "#norm-3")
        self.assertIn("h.1.ln_2", self.card()[0])
        self.assertTrue(self.in_sight("#picture-1 .spot.chosen"))

    def test_the_keyboard_reaches_everything(self):
        self.open(self.pages["gpt2"])
        self.browser.value("document.getElementById('view').focus()")
        self.browser.key("Tab")
        label = self.browser.value("document.activeElement.getAttribute('aria-label')")
        self.assertEqual(label, "h.0.ln_1, free")
        self.browser.key("Enter")
        self.assertIn("h.0.ln_1", self.card()[0])
        for _ in range(8):
            self.browser.key("Tab")
        self.assertEqual(self.browser.value("document.activeElement.getAttribute('href')"), "#norm-8")
        self.assertTrue(self.in_sight("#picture-1 .spot[href='#norm-8']"))
        self.browser.key("b")
        self.assertEqual(self.shown(), ["picture-0"])
        before = self.viewed()
        self.browser.key("ArrowDown")
        self.assertGreater(self.viewed()[1], before[1])
        self.browser.key("+")
        self.assertLess(self.viewed()[2], before[2])
        self.browser.key("0")
        size = self.browser.value("document.querySelector('#drawing-1 > svg').height.baseVal.value")
        self.assertGreaterEqual(self.viewed()[3], size)
        self.assertEqual(self.browser.errors(), [])

    def test_before_and_after(self):
        self.open(self.pages["gpt2"])
        self.assertEqual(self.shown(), ["picture-1"])
        self.browser.click("label[for='show-0']")
        self.assertEqual(self.shown(), ["picture-0"])
        self.keep("before")
        self.browser.click("label[for='show-1']")
        self.assertEqual(self.shown(), ["picture-1"])

    def test_the_wheel_zooms_and_a_drag_moves(self):
        self.open(self.pages["gpt2"])
        at = self.browser.middle("#view")
        x, y, width, height = self.viewed()
        self.browser.wheel(at, -240)
        nearer = self.viewed()
        self.assertLess(nearer[2], width)
        self.assertAlmostEqual(nearer[0] + nearer[2] / 2, x + width / 2, delta=1, msg="the place under the pointer stays")
        self.browser.drag(at, (-50, -80))
        moved, scale = self.viewed(), nearer[2] / self.browser.value("document.getElementById('view').clientWidth")
        self.assertAlmostEqual(moved[0] - nearer[0], 50 * scale, delta=1)
        self.assertAlmostEqual(moved[1] - nearer[1], 80 * scale, delta=1)
        self.browser.click("#zoom-out")
        self.assertGreater(self.viewed()[2], moved[2])
        # A drag that ends on a norm does not select it.
        spot = self.browser.middle("#picture-1 .spot[href='#norm-1']")
        self.browser.drag((spot[0] - 60, spot[1]), (60, 0))
        self.assertEqual(self.card(), [])
        self.assertEqual(self.browser.errors(), [])

    def test_it_can_be_read_in_the_dark_and_on_paper(self):
        self.open(self.pages["gpt2"], "#norm-0")
        canvas = "getComputedStyle(document.querySelector('#drawing-1 rect')).fill"
        page = "getComputedStyle(document.body).backgroundColor"
        light = self.browser.value(canvas), self.browser.value(page)
        self.browser.emulate(prefers_color_scheme="dark")
        dark = self.browser.value(canvas), self.browser.value(page)
        for before, after in zip(light, dark):
            self.assertNotEqual(before, after)
        self.keep("dark")
        self.browser.emulate("print", prefers_color_scheme="dark")
        self.assertEqual((self.browser.value(canvas), self.browser.value(page)), light, "paper is light")
        columns = self.browser.value("[...document.querySelectorAll('.columns svg')].map((each) => each.clientHeight)")
        self.assertTrue(all(0 < height <= 1000 for height in columns), columns)
        self.assertEqual(self.shown(), [])
        self.keep("print")

    def test_without_scripts_it_works_too(self):
        self.browser.send("Emulation.setScriptExecutionDisabled", value=True)
        self.addCleanup(self.browser.send, "Emulation.setScriptExecutionDisabled", value=False)
        self.open(self.pages["gpt2"])
        self.keep("no_script")
        self.assertEqual(self.shown(), ["picture-1"])
        self.browser.click("label[for='show-0']")
        self.assertEqual(self.shown(), ["picture-0"])
        self.browser.click("#picture-0 .spot[href='#norm-0']")
        self.assertIn("h.0.ln_1", self.card()[0])

    def test_names_that_are_markup_are_text(self):
        model = self.folder / "hostile.onnx"
        hostile_model(model)
        self.open(self.report(model))
        self.assertEqual(self.browser.errors(), [])
        self.assertEqual(self.browser.value("document.querySelectorAll('script').length"), 1)
        self.assertEqual(self.browser.value("document.querySelectorAll('img').length"), 0)
        self.browser.click("#picture-1 .spot[href='#norm-0']")
        shown = self.card()[0].replace("\n", "")
        self.assertIn(HOSTILE, shown, "the whole of it")
        self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), 1280, "it wraps")
        self.keep("hostile")

    def test_a_deep_model_is_drawn_with_its_groups_closed(self):
        model = self.folder / "deep.pt"
        deep_model(model)
        page = self.report(model)
        self.assertLess(page.stat().st_size, 1_000_000)
        self.open(page)
        self.assertEqual(self.browser.errors(), [])
        self.browser.click("#picture-1 .spot[href^='#group-']")
        text = self.card()[0]
        self.assertIn("150 LayerNorms", text)
        self.keep("deep")
        self.browser.click(".card.chosen a[href='#norm-77']")
        self.assertIn("norm", self.card()[0])
        self.assertIn("γ", self.card()[0])
