"""Writes docs/api.md: the public names of the Python package with their signatures and docstrings.

    write_api.py      with a Python that has numpy (that of the venv does)
"""

import inspect
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/api.md"
HEAD = """# The Python package, name by name

This page lists what `import normlens` brings. `packaging/write_api.py` writes it from the package's docstrings: change those.
[python.md](python.md) shows how the names are used.
"""


def signature(name, value):
    """Names and defaults: the docstring has what each is."""
    bare = inspect.signature(value).replace(return_annotation=inspect.Signature.empty)
    parameters = [each.replace(annotation=each.empty) for each in bare.parameters.values() if each.name != "self"]
    return f"{name}{bare.replace(parameters=parameters)}"


def block(text):
    return f"\n    {text}\n"


def documented(text):
    """A docstring as Markdown, in which each argument that begins a line is an item of a list."""
    text = re.sub(r"^(\w+(?:, \w+)*): ", r"- **\1**: ", inspect.cleandoc(text), flags=re.MULTILINE)
    text = re.sub(r"^(- .*(?:\n .*)*)\n(?=[^\s-])", r"\1\n\n", text, flags=re.MULTILINE)  # ends the list
    return f"\n{text}\n"


def members(kind):
    for name, member in sorted(vars(kind).items()):
        value = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if name.startswith("_") or not callable(value) or not value.__doc__:
            continue
        shown = f"{kind.__name__}.{name}"
        yield block(shown if isinstance(member, property) else signature(shown, value)) + documented(value.__doc__)


def entry(name, value):
    text = f"\n## {name}\n"
    own = isinstance(value, type)
    if not (own and issubclass(value, BaseException)):
        text += block(signature(name, value))
    text += documented(value.__doc__)
    return text + ("".join(members(value)) if own else "")


def page():
    sys.path.insert(0, str(ROOT / "app/python"))
    sys.dont_write_bytecode = True
    import normlens

    values = {name: getattr(normlens, name) for name in normlens.__all__}
    functions = [name for name, value in values.items() if not isinstance(value, type)]
    errors = [name for name, value in values.items() if isinstance(value, type) and issubclass(value, BaseException)]
    classes = [name for name in values if name not in functions and name not in errors]
    return HEAD + "".join(entry(name, values[name]) for group in (functions, classes, errors) for name in sorted(group))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
