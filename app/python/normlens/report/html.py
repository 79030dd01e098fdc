"""A report for a notebook: a table of verdicts, and the zero-mean graph of one norm below it."""

from __future__ import annotations

from html import escape
from typing import Optional

from normlens.report.report import VERDICTS, ChangeReport, Norm, Report
from normlens.report.text import check_lines, state_word, why

# Marks differ in shape too: color alone does not distinguish them.
MARKS = {"free": ("●", "#2e7d32"), "with_centering": ("◐", "#b26a00"), "blocked": ("○", "#b3261e"), "unknown": ("?", "#666666")}
CELL = "text-align:left;vertical-align:top;padding:2px 10px 2px 0"


def report_html(report: Report) -> str:
    rows = "".join(_row(report, norm) for norm in report.norms)
    head = "".join(f'<th style="{CELL}">{title}</th>' for title in ("LayerNorm", "verdict", "state", "reason"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    return f"<div><p><b>{escape(report.summary())}</b></p>{table}{_remarks(report)}{_picture(report)}</div>"


def _row(report: Report, norm: Norm) -> str:
    mark, colour = MARKS[norm.verdict]
    reason = escape(why(report, norm)) + "".join(f"<br>holds if {escape(text)}" for text in norm.holds_if)
    cells = (
        f"<code>{escape(norm.name)}</code>",
        f'<span style="color:{colour}">{mark}</span> {VERDICTS[norm.verdict]}',
        escape(state_word(report, norm)),
        reason,
    )
    return "<tr>" + "".join(f'<td style="{CELL}">{cell}</td>' for cell in cells) + "</tr>"


def _remarks(report: Report) -> str:
    lines = list(report.notes)
    if isinstance(report, ChangeReport):
        lines = [f"exported for {'; '.join(report.contract)}"] if report.contract and report.folded else []
        lines += [f"untied: {text}" for text in report.untied] + [f"compared on {line}" for line in check_lines(report)]
        lines += report.notes
        lines += [f"holds if {text}" for text in report.conditions]
        lines += [f"written to {report.output}"] if report.output is not None else []
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def _picture(report: Report) -> str:
    chosen = _most_telling(report)
    if chosen is None or not report.regions:
        return ""
    title = f"Zero-mean graph of <code>{escape(chosen.name)}</code> (others: <code>report.picture(name)</code>)"
    return f"<details><summary>{title}</summary>{report.picture(chosen.index).svg}</details>"


def _most_telling(report: Report) -> Optional[Norm]:
    """The first that is blocked, else the first."""
    blocked = [norm for norm in report.norms if norm.verdict == "blocked"]
    return (blocked or list(report.norms) or [None])[0]
