"""A report for a terminal."""

from __future__ import annotations

import shutil
import textwrap
from typing import List

from normlens.report.report import VERDICTS, ChangeReport, Norm, Report

STATES = {"folded": "folds", "folded_with_centering": "folds, centered", "kept": "stays"}
DONE = {"folded": "folded", "folded_with_centering": "folded, centered", "kept": "stays"}


def state_word(report: Report, norm: Norm) -> str:
    return (DONE if isinstance(report, ChangeReport) else STATES)[norm.state]


def why(report: Report, norm: Norm) -> str:
    """Why it is kept where it is, else the verdict's reason."""
    kept = report.kept.get(norm.name, "") if isinstance(report, ChangeReport) else norm.because
    if norm.folds and isinstance(report, ChangeReport) and report.deviations and norm.because:
        return norm.because
    return norm.reason if norm.folds or kept.lower().rstrip(".") in norm.reason.lower() else kept


def check_lines(report: ChangeReport) -> List[str]:
    """The worst of each type."""
    lines = []
    for dtype in dict.fromkeys(check.dtype for check in report.checks):
        checks = [check for check in report.checks if check.dtype == dtype]
        worst = max(checks, key=lambda check: check.difference / check.limit if check.limit else check.difference)
        how = f"{len(checks)} sets of inputs" if len(checks) > 1 else worst.what
        lines.append(f"{how}, {dtype}: difference {worst.difference:.1e}, {worst.limit:.1e} is the most")
    return lines


def report_text(report: Report) -> str:
    lines = [report.summary()]
    if isinstance(report, ChangeReport) and report.contract and report.folded:
        lines.append(f"  exported for {'; '.join(report.contract)}")
    width = max(60, shutil.get_terminal_size((120, 24)).columns)
    if report.norms:
        first = max(len(norm.name) for norm in report.norms)
        verdict = max(len(VERDICTS[norm.verdict]) for norm in report.norms)
        state = max(len(state_word(report, norm)) for norm in report.norms)
        for norm in report.norms:
            head = f"  {norm.name:<{first}}  {VERDICTS[norm.verdict]:<{verdict}}  {state_word(report, norm):<{state}}  "
            rest = textwrap.wrap(why(report, norm), max(30, width - len(head))) or [""]
            lines.append((head + rest[0]).rstrip())
            lines += [" " * len(head) + line for line in rest[1:]]
            lines += [f"    holds if {condition}" for condition in norm.holds_if]
    if isinstance(report, ChangeReport):
        lines += [f"  untied: {text}" for text in report.untied]
        lines += [f"  compared on {line}" for line in check_lines(report)]
        lines += [f"  deviates on {one.what}, {one.dtype}: by {one.difference:.1e}" for one in report.deviations]
        lines += [f"  holds if {text}" for text in report.conditions]
        lines += [f"  written to {report.output}"] if report.output is not None else []
    lines += [f"  note: {note}" for note in report.notes]
    return "\n".join(lines)
