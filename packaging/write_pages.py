"""Writes the manual page and the completions of bash, zsh and fish from the engine's own table of verbs and options.

    write_pages.py ENGINE FOLDER      writes man/normlens.1, bash/normlens, zsh/_normlens and fish/normlens.fish
"""

import json
import pathlib
import re
import subprocess
import sys


class Option:
    def __init__(self, row):
        self.short = ["-" + name for name in row["short"]]
        self.long = ["--" + name for name in row["long"]]
        self.names = self.short + self.long
        self.summary, self.group = row["summary"], row["group"]
        self.required, self.repeats, self.default = row["required"], row["repeats"], row["default"]
        kind, _, choices = row["value"].partition(":{")
        self.takes_value, self.kind = bool(row["value"]), kind.lstrip(":")
        self.choices = choices.partition("}")[0].split(",") if choices else []
        # Files are named in capitals with what they are; words and numbers are completed with nothing.
        self.is_file = bool(re.search(r"FILE|OUT|REPORT|MODEL|PLAN|\.\w+$|FOLDER|PATH", self.kind)) and "--model" not in self.long


class Verb:
    def __init__(self, table):
        self.name, self.summary, self.group = table["name"], table["summary"], table["group"]
        self.example = table["footer"].partition("Example:\n")[2].strip()
        rows = [Option(row) for row in table["options"]]
        self.options = [option for option in rows if option.names]
        self.arguments = [option for option in rows if not option.names]


def read(engine):
    table = json.loads(subprocess.run([engine, "--tables"], capture_output=True, text=True, check=True).stdout)
    version = subprocess.run([engine, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return table, [Verb(verb) for verb in table["verbs"]], [Option(row) for row in table["options"]], version


def roff(text):
    return re.sub(r"^([.'])", r"\\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.MULTILINE)


def manual(table, verbs, general, version):
    lines = [f'.TH NORMLENS 1 "" "{version}" "User Commands"', ".SH NAME",
             "normlens \\- find and fold LayerNorms that can become RMSNorms", ".SH SYNOPSIS",
             ".B normlens\n.RI [ MODEL ]", ".br", ".B normlens\n.I VERB\n.RI [ OPTIONS ]", ".SH DESCRIPTION", roff(table["summary"]),
             "Without a verb the window opens; with one the engine runs, without a display.", ".SH OPTIONS"]

    def entry(option):
        value = " " + (("{" + ",".join(option.choices) + "}") if option.choices else option.kind) if option.takes_value else ""
        summary = option.summary + (f" (default: {option.default})" if option.default else "")
        lines.extend([".TP", f"\\fB{roff(', '.join(option.names))}\\fR{roff(value)}", roff(summary)])

    for option in general:
        entry(option)
    for group in dict.fromkeys(verb.group for verb in verbs):
        lines.append(f'.SH "{group.upper()}"')
        for verb in (verb for verb in verbs if verb.group == group):
            lines.append(f'.SS "normlens {verb.name} {" ".join(each.kind or "FILE" for each in verb.arguments)}"'.rstrip())
            lines.append(roff(verb.summary) + ".")
            for option in verb.options:
                if "--help" not in option.long:
                    entry(option)
            lines.extend([".P", "Example:", ".P", f".B {roff(verb.example)}"])
    lines.extend([".SH EXIT STATUS", "0: done. 1: not done, as the message says. 2: wrong words on the command line.",
                  "3: a file could not be read, run or written."])
    return "\n".join(lines) + "\n"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bash(verbs):
    cases = []
    for verb in verbs:
        for option in verb.options:
            patterns = "|".join(f"{verb.name}:{name}" for name in option.names)
            if option.choices:
                cases.append(f"    {patterns}) COMPREPLY=($(compgen -W {quoted(' '.join(option.choices))} -- \"$word\")); return ;;")
            elif option.takes_value:
                cases.append(f"    {patterns}) return ;;")
    words = "\n".join(f"    {verb.name}) words={quoted(' '.join(n for o in verb.options for n in o.long))} ;;" for verb in verbs)
    return f"""# Completion of normlens for bash, made by packaging/write_pages.py. What it leaves empty is completed with files.
_normlens() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb=${{COMP_WORDS[1]}} words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W {quoted(' '.join([v.name for v in verbs] + ['--help', '--version']))} -- "$word"))
    return
  fi
  case $verb:$before in
{chr(10).join(cases)}
  esac
  [[ $word == -* ]] || return
  case $verb in
{words}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _normlens normlens
"""


def zsh_option(option):
    text = option.summary.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    value = ""
    if option.takes_value:
        action = f"({' '.join(option.choices)})" if option.choices else "_files" if option.is_file else " "
        value = f":{option.kind.replace(':', ' ')}:{action}"
    alternatives = [name + ("=" if value and name.startswith("--") else "") for name in option.names]
    return "\n".join("      " + quoted(f"{'*' if option.repeats else ''}{name}[{text}]{value}") + " \\" for name in alternatives)


def zsh(verbs):
    names = "\n".join("    " + quoted(f"{verb.name}:{verb.summary}") for verb in verbs)
    cases = "\n".join(f"    {verb.name}) _arguments \\\n" + "\n".join(zsh_option(option) for option in verb.options) +
                      "\n      '*:file:_files' ;;" for verb in verbs)
    return f"""#compdef normlens
# Completion of normlens for zsh, made by packaging/write_pages.py.
_normlens() {{
  local -a verbs=(
{names}
  )
  if ((CURRENT == 2)); then
    _describe verb verbs
    _files
    return
  fi
  local verb=$words[2]
  shift words
  ((CURRENT--))
  case $verb in
{cases}
  esac
}}
_normlens "$@"
"""


def fish(verbs):
    lines = ["# Completion of normlens for fish, made by packaging/write_pages.py."]
    for verb in verbs:
        lines.append(f"complete -c normlens -n __fish_use_subcommand -a {verb.name} -d {fish_quoted(verb.summary)}")
        for option in verb.options:
            names = " ".join([f"-s {name[1:]}" for name in option.short] + [f"-l {name[2:]}" for name in option.long])
            value = ""
            if option.takes_value:
                value = f" -x -a {fish_quoted(' '.join(option.choices))}" if option.choices else " -r" if option.is_file else " -x"
            lines.append(f"complete -c normlens -n '__fish_seen_subcommand_from {verb.name}' {names}{value} "
                         f"-d {fish_quoted(option.summary)}")
    return "\n".join(lines) + "\n"


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def main(engine, folder):
    table, verbs, general, version = read(engine)
    for name, text in (("man/normlens.1", manual(table, verbs, general, version)), ("bash/normlens", bash(verbs)),
                       ("zsh/_normlens", zsh(verbs)), ("fish/normlens.fish", fish(verbs))):
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
