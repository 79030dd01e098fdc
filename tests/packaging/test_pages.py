#!/usr/bin/env python3
"""The manual page and the completions that packaging/write_pages.py makes of the engine's table of verbs and options.

    run_tests.py test_pages.py ENGINE
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ENGINE = pathlib.Path(sys.argv[1]).resolve()
WRITER = pathlib.Path(__file__).parents[2] / "packaging/write_pages.py"
COMPLETE = """source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_normlens; printf '%s\\n' "${COMPREPLY[@]}"
"""


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        subprocess.run([sys.executable, WRITER, ENGINE, cls.folder], check=True)
        table = json.loads(subprocess.run([ENGINE, "--tables"], capture_output=True, text=True, check=True).stdout)
        cls.options = {verb["name"]: [name for option in verb["options"] for name in option["long"]] for verb in table["verbs"]}

    def completed(self, *words):
        command = ["bash", "--norc", "-c", COMPLETE, "bash", self.folder / "bash/normlens", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    def test_the_table_has_what_help_lists(self):
        self.assertIn("fold", self.options)
        for verb, options in self.options.items():
            text = subprocess.run([ENGINE, verb, "--help"], capture_output=True, text=True, check=True).stdout
            self.assertEqual(sorted(set(re.findall(r"^  (?:-\w,)?--([\w-]+)", text, re.MULTILINE))), sorted(options), verb)

    def test_every_page_has_every_option_of_every_verb(self):
        manual = (self.folder / "man/normlens.1").read_text().replace("\\-", "-")
        zsh, fish = (self.folder / "zsh/_normlens").read_text(), (self.folder / "fish/normlens.fish").read_text()
        for verb, options in self.options.items():
            section = manual.partition(f'.SS "normlens {verb}')[2].partition(".SS")[0]
            case = zsh.partition(f"    {verb}) _arguments")[2].partition(";;")[0]
            for name in options:
                self.assertTrue(name == "help" or re.search(rf"--{name}\b", section), f"{verb} --{name}: manual")
                self.assertRegex(case, rf"--{name}[=\[]", f"{verb} --{name}: zsh")
                self.assertRegex(fish, rf"seen_subcommand_from {verb}'.* -l {name} ", f"{verb} --{name}: fish")

    def test_bash_completes_verbs_options_and_choices(self):
        self.assertEqual(self.completed("normlens", "an"), ["analyze"])
        self.assertEqual(self.completed("normlens", "fold", "--pol"), ["--policy"])
        self.assertEqual(self.completed("normlens", "fold", "--policy", "ba"), ["balanced"])
        self.assertEqual(self.completed("normlens", "fold", "mod"), [])  # left to the names of files

    def test_the_shells_and_man_read_them(self):
        read = {"zsh": ["-n", "zsh/_normlens"], "fish": ["-n", "fish/normlens.fish"],
                "man": ["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "man/normlens.1"]}
        for program, words in read.items():
            if shutil.which(program):
                ran = subprocess.run([program, *words], cwd=self.folder, capture_output=True, text=True, check=False)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""), program)
