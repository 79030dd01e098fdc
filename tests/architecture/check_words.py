"""Checks that no text on screen uses a word that is out.

    check_words.py ROOT     prints each violation as "file:line: words -> instead", exits 1 if there is one

Reads the string literals of ui and app, and the pages of resources/words and resources/lessons. A literal counts as
shown if it contains a space, is a capitalized word or is translated; keys, object names and options do not count.
"""

import pathlib
import re
import sys

# Pattern -> the word to use instead. American spelling first, then one word per thing.
OUT = {
    r"[Aa]nalys(e|ed|es|ing)\b(?<!analyses)": "analyze",
    r"[Cc]olour": "color",
    r"\b([Rr]e)?[Cc]entre": "center",
    r"[Nn]ormalis": "normalize",
    r"[Cc]ancelled": "canceled",
    r"[Bb]ehaviour": "behavior",
    r"[Ff]lavour": "flavor",
    r"[Nn]eighbour": "neighbor",
    r"(\d|%\d|%\.\df|%\.\dg) %%?(?![\w.])": "no space before %",
    r"\btold\b": "say who does what",
    r"\b[Gg]o(es)? on\b(?! to\b)|\b[Gg]one on\b": "resumes, continues",
    r"\b[Bb]eside\b": "next to, compared with",
    r"\b(put|[Ss]et) aside\b": "saved; test split",
    r"\b(falls?|fell) with\b": "goes too",
    r"\b[Ss]omebody\b": "someone; or name who",
    r"\b[Nn]onsense\b": "unreadable data",
    r"\bfinding out\b": "analyzing…",
    r"\b[Cc]hosen (norm|LayerNorm)\b": "selected",
    r"\b[Hh]ardly\b": "slight",
    r"%\d kept\b|^kept( as LayerNorm)?$|\b[Kk]ept as LayerNorm\b": "stays a LayerNorm",
    r"\b[Cc]an be done\b": "Verdict",
    r"\b[Tt]he plan does(?! not\b)": "Plan",
    r"\bother outputs\b": "outputs differ",
    r"\bagainst (its|the) verdict\b": "despite the verdict",
    r"\bnot equal\b(?! to)|\bnot exact\b": "varies; outputs differ",
    r"\b[Ii]nterleaved\b": "alternating rounds",
    r"\b[Aa]new\b": "again",
    r"\b[Vv]ert(ex|ices)\b": "node",
    r"\b[Oo]ps?\b(?!:| library)": "node; operator in timings",
    r"\b(lookup|position|shared) tables?\b": "embedding",
    r"\b[Nn]arrowed model\b": "narrow model",
    r"\b[Ll]ast words\b": "last output",
    r"\bread with care\b": "treat with caution",
    r"\b[Vv]erif(y|ied|ies)\b": "prove (float64), check (file), measure (time)",
    r"\bspeaks?\b": "uses, sends",
    r"\bnobody\b|\banybody\b|\banyone\b": "name who",
    r"\bmove[ds]? by hand\b": "interactive",
}
# Literals that are keys, file names or options. A single word is shown where it is translated.
KEYS = re.compile(r"^[^\s]*$|--no-verify|^normlens [a-z]+ ")
TRANSLATED = re.compile(r'(?:\b(?:tr|words)\(|NOOP\(\s*"\w+",)\s*"([^A-Z"\s][^"\s]*)"')
COMMENT = re.compile(r"<!--.*?-->|`[^`]*`|\]\([^)]*\)", re.DOTALL)
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\[^\n]+?)\'|[^"/\'R]+|.', re.DOTALL
)


def literals(text):
    """(line, literal) of each string in C++ source; adjacent ones are joined as the compiler joins them."""
    found, joins, line = [], False, 1
    for token in TOKEN.finditer(text):
        words, source = token.group(2), token.group(0)
        if words is not None and joins:
            found[-1] = (found[-1][0], found[-1][1] + words)
        elif words is not None:
            found.append((line, words))
        if words is not None or (source.strip() and not source.startswith("/")):
            joins = words is not None
        line += source.count("\n")
    return found


def violations_in(texts):
    for place, words in texts:
        for pattern, instead in OUT.items():
            match = re.search(pattern, words)
            if match:
                yield f"{place}: '{match.group(0).strip()}' in '{words.strip()[:80]}' -> {instead}"


def shown(root):
    """(place, text) of each text that a user may read."""
    for folder in ("ui", "app"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".h", ".cpp"):
                text, place = file.read_text(encoding="utf-8"), file.relative_to(root)
                for line, words in literals(text):
                    if not KEYS.search(words) or re.match(r"[A-Z][a-z]+$", words):
                        yield f"{place}:{line}", words
                for match in TRANSLATED.finditer(text):
                    yield f"{place}:{text.count(chr(10), 0, match.start(1)) + 1}", match.group(1)
    for folder in ("words", "lessons"):
        for file in sorted((root / "resources" / folder).glob("*.md")):
            text = file.read_text(encoding="utf-8")
            data = "\n".join(re.findall(r'"(?:list|present|live|passed|failed)": "([^"]*)"', text))
            for part in COMMENT.sub("", text).split("\n\n") + data.split("\n"):
                yield str(file.relative_to(root)), part


def violations(root):
    return violations_in(shown(pathlib.Path(root)))


if __name__ == "__main__":
    found = list(violations(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
