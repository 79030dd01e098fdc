"""Checks that what links to a lesson or to a page of words names one that is there.

    check_lesson_links.py ROOT     prints each violation as "file: what is wrong", exits 1 if there is one

"lesson:projection/lost" is a step of resources/lessons, linkLesson(widget, "plan") and explain(...) a page of
resources/words. A link that leads nowhere would open the first lesson, without a word. Each lesson has a page in docs/learn.
"""

import json
import pathlib
import re
import sys

STEP = re.compile(r"^## [^\n]*\n<!--(.*?)-->", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"lesson:([a-z0-9_]+)(?:/([a-z0-9_]+))?")
CALL = re.compile(r"\b(?:linkLesson|explain|addPage)\((.*?)\);\n", re.DOTALL)
WORD = re.compile(r'"([a-z_]+)"')


def name_of(file):
    return file.stem.split("_", 1)[1]


def lessons(root):
    """Name of each lesson -> names of its steps."""
    return {
        name_of(file): [json.loads(data)["name"] for data in STEP.findall(file.read_text(encoding="utf-8"))]
        for file in sorted((root / "resources/lessons").glob("*.md"))
    }


def violations(root):
    root = pathlib.Path(root)
    known = lessons(root)
    pages = {name_of(file) for file in (root / "resources/words").glob("*.md")}
    for top, suffixes in {"resources": {".md"}, "docs": {".md"}, "ui": {".h", ".cpp"}, "app": {".h", ".cpp"}}.items():
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in suffixes:
                continue
            text, place = file.read_text(encoding="utf-8"), file.relative_to(root)
            for lesson, step in LINK.findall(text):
                if lesson not in known:
                    yield f"{place}: there is no lesson '{lesson}'"
                elif step and step not in known[lesson]:
                    yield f"{place}: the lesson '{lesson}' has no step '{step}'"
            for page in (word for call in CALL.findall(text) for word in WORD.findall(call)):
                if page not in pages:
                    yield f"{place}: there is no page of words '{page}'"
    for lesson in known:
        if not (root / "docs/learn" / f"{lesson}.md").exists():
            yield f"docs/learn: the lesson '{lesson}' has no page"
    for page in sorted((root / "resources/words").glob("*.md")):
        if not LINK.search(page.read_text(encoding="utf-8")):
            yield f"{page.relative_to(root)}: no link leads on to a lesson"


if __name__ == "__main__":
    found = list(violations(sys.argv[1]))
    print("\n".join(found))
    sys.exit(bool(found))
