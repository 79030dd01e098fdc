#include <cctype>
#include <cstdint>
#include <string_view>

#include "app/engine/verbs/report/document.h"
#include "core/base/printable.h"

namespace normlens::engine::report {
namespace {

// The page's style: colors and sizes of the program's design.
// Figures take their colors from here, too: classes a (original), b (folded), limit, axis.
const std::string_view kStyle = R"css(
:root { color-scheme: light dark; --page: #ffffff; --canvas: #fafbfc; --code: #f5f6f8; --text: #1b1f24; --soft: #4e5762;
  --faint: #6b7480; --line: #e2e5ea; --accent: #3b5bdb; --good: #0a7a55; --good-back: #e3f3ec; --bad: #b84a00;
  --bad-back: #fcebe0; --a: #6b7480; --b: #3b5bdb; --exact: #0a7a55; --file: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --page: #1b1e23; --canvas: #121418; --code: #16181c; --text: #e9ecf0;
  --soft: #aeb6c1; --faint: #868f9b; --line: #2a2f37; --accent: #8ba0f5; --good: #4cc79a; --good-back: #17342a;
  --bad: #ff9a57; --bad-back: #3b2416; --a: #868f9b; --b: #8ba0f5; --exact: #3fbf97; --file: #2b93d1; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 32px 24px; background: var(--page); color: var(--text);
  font: 13px/1.5 Inter, system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; }
h1 { margin: 0; font-size: 28px; line-height: 36px; font-weight: 600; overflow-wrap: anywhere; }
h2 { margin: 0; font-size: 15px; line-height: 24px; font-weight: 600; }
main > header { display: flex; align-items: center; gap: 16px; }
.logo { flex: none; fill: none; stroke: var(--text); stroke-width: 2; stroke-linecap: round; }
.logo circle { stroke: #e69f00; stroke-width: 3; }
header p, .note, figcaption { margin: 0; color: var(--soft); }
.note { font-size: 12px; }
.banner { display: flex; flex-wrap: wrap; align-items: center; gap: 16px 24px; margin: 24px 0; padding: 20px 24px;
  border: 1px solid var(--line); border-radius: 8px; background: var(--code); }
.banner svg { flex: none; }
.banner > div { flex: 1 1 280px; }
.banner h2 { font-size: 18px; }
.banner p { margin: 4px 0 0; color: var(--soft); }
.banner dl { margin: 0; padding: 0 0 0 20px; border-left: 1px solid var(--line); }
.banner dd { margin: 0; font-size: 24px; line-height: 32px; font-weight: 600; }
.banner dt { color: var(--soft); font-size: 12px; }
.good { border-color: var(--good); background: var(--good-back); }
.good .sign { stroke: var(--good); }
.bad { border-color: var(--bad); background: var(--bad-back); }
.bad .sign { stroke: var(--bad); }
.neutral .sign { stroke: var(--faint); }
.sign { fill: none; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.sections { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 24px 32px; }
section { grid-column: span 2; min-width: 0; overflow-x: auto; }
section.half { grid-column: span 1; }
section > header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 0 16px;
  margin-bottom: 8px; }
section p { margin: 8px 0; color: var(--soft); }
table { width: 100%; border-collapse: collapse; border-top: 1px solid var(--line); margin: 8px 0; }
th, td { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: break-word; }
th { color: var(--soft); font-size: 12px; font-weight: 400; }
td:last-child, th:last-child { padding-right: 0; }
.number { text-align: right; white-space: nowrap; overflow-wrap: normal;
  font-family: ui-monospace, "JetBrains Mono", "DejaVu Sans Mono", monospace; font-size: 12px; }
th.number { font-family: inherit; }
pre { margin: 8px 0; padding: 12px 16px; border: 1px solid var(--line); border-radius: 8px; background: var(--code);
  font: 12px/22px ui-monospace, "JetBrains Mono", "DejaVu Sans Mono", monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
pre b { color: var(--faint); font-weight: 400; user-select: none; }
figure { margin: 8px 0; }
figure svg { display: block; width: 100%; height: auto; }
.graph svg { width: auto; max-width: 100%; max-height: 560px; margin: 0 auto; border: 1px solid var(--line);
  border-radius: 8px; }
figure:not(.graph) text { fill: var(--soft); font-size: 11px; }
.axis { stroke: var(--line); }
.limit { stroke: var(--soft); stroke-dasharray: 4 3; }
.a { stroke: var(--a); fill: none; } .b { stroke: var(--b); fill: none; }
text.a { stroke: none; fill: var(--a); font-weight: 600; } text.b { stroke: none; fill: var(--b); font-weight: 600; }
.exact { stroke: none; fill: var(--exact); } .file { stroke: var(--file); fill: var(--page); stroke-width: 1.5; }
a { color: var(--accent); }
footer { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 4px 24px; margin-top: 24px;
  padding-top: 12px; border-top: 1px solid var(--line); color: var(--soft); font-size: 12px; }
@media (max-width: 800px) { .sections { display: block; } section { margin-bottom: 24px; }
  .banner dl { border-left: 0; padding: 0; } }
@page { size: A4; margin: 14mm; }
@media print { :root { color-scheme: light; --page: #ffffff; --canvas: #ffffff; --code: #f5f6f8; --text: #1b1f24;
  --soft: #4e5762; --faint: #6b7480; --line: #e2e5ea; --accent: #3b5bdb; --good: #0a7a55; --good-back: #e3f3ec;
  --bad: #b84a00; --bad-back: #fcebe0; --a: #6b7480; --b: #3b5bdb; --exact: #0a7a55; --file: #0072b2; }
  body { padding: 0; font-size: 10px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h1 { font-size: 20px; line-height: 26px; } .sections { display: grid; gap: 12px 20px; } section { margin: 0; }
  .banner { margin: 12px 0; padding: 10px 14px; flex-wrap: nowrap; } .banner dd { font-size: 16px; line-height: 20px; }
  th, td { padding-top: 3px; padding-bottom: 3px; } .number, pre, .note, th, footer { font-size: 9px; }
  pre { padding: 6px 10px; line-height: 15px; } figure, pre, tr, .banner { break-inside: avoid; }
  .graph svg { max-height: 80mm; } }
)css";

// A stranger's file decides much of the text: were one place not escaped, no script would run and nothing be fetched.
constexpr std::string_view kHead =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n";

// The program's sign: a norm on the stream, and the mean that it takes out.
constexpr std::string_view kLogo =
    "<svg class=\"logo\" width=\"28\" height=\"44\" viewBox=\"0 0 28 44\" aria-hidden=\"true\">"
    "<path d=\"M14 2v8M14 34v8M9 22h10\"/><circle cx=\"14\" cy=\"22\" r=\"11\"/></svg>";

std::string element(const std::string& name, std::string_view text, const std::string& kind = {}) {
  const std::string attributes = kind.empty() ? "" : " class=\"" + kind + "\"";
  return "<" + name + attributes + ">" + escaped(text) + "</" + name + ">";
}

struct ToneLook {
  const char *kind, *path, *says;
};
ToneLook lookOf(Tone tone) {
  switch (tone) {
    case Tone::Good:
      return {"good", "m10 16.5 4.5 4.5 8-9", "passed"};
    case Tone::Bad:
      return {"bad", "M16 9v9m0 4.5v.1", "not passed"};
    case Tone::Neutral:
      break;
  }
  return {"neutral", "M10 16h12", "nothing to judge"};
}

std::string bannerOf(const Banner& banner) {
  const ToneLook look = lookOf(banner.tone);
  std::string html =
      "<div class=\"banner " + std::string(look.kind) +
      "\">\n<svg class=\"sign\" width=\"32\" height=\"32\" viewBox=\"0 0 32 32\" role=\"img\" aria-label=\"" +
      look.says + R"("><circle cx="16" cy="16" r="14"/><path d=")" + look.path + "\"/></svg>\n<div>" +
      element("h2", banner.title) + element("p", banner.text) + "</div>\n";
  for (const auto& [figure, what] : banner.figures) {
    html += "<dl>" + element("dd", figure) + element("dt", what) + "</dl>\n";
  }
  return html + "</div>\n";
}

bool startsLikeANumber(const std::string& text) {
  const char first = text.empty() ? ' ' : text.front();
  return std::isdigit(static_cast<unsigned char>(first)) != 0;
}

// Finds the columns in which a reader looks for digits below each other.
std::vector<bool> columnsOfNumbers(const Table& table) {
  std::vector<bool> numbers;
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i >= numbers.size()) numbers.push_back(true);
      numbers[i] = numbers[i] && (row[i].empty() || startsLikeANumber(row[i]));
    }
  }
  return numbers;
}

std::string rowOf(const std::vector<std::string>& cells, const std::string& name, const std::vector<bool>& numbers) {
  std::string html = "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    html += element(name, cells[i], i < numbers.size() && numbers[i] ? "number" : "");
  }
  return html + "</tr>\n";
}

struct HtmlBlocks {
  std::string operator()(const Paragraph& paragraph) const { return element("p", paragraph.text) + "\n"; }
  std::string operator()(const Table& table) const {
    const auto numbers = columnsOfNumbers(table);
    std::string html = "<table>\n";
    if (!table.heads.empty()) html += "<thead>" + rowOf(table.heads, "th", numbers) + "</thead>\n";
    html += "<tbody>\n";
    for (const auto& row : table.rows) html += rowOf(row, "td", numbers);
    return html + "</tbody>\n</table>\n";
  }
  std::string operator()(const Figure& figure) const {
    const std::string kind =
        figure.graph ? R"( class="graph" role="img" aria-label=")" + escaped(figure.alt) + "\"" : "";
    return "<figure" + kind + ">" + figure.svg + "</figure>\n";
  }
  std::string operator()(const Commands& commands) const {
    std::string html = "<pre>";
    for (size_t i = 0; i < commands.lines.size(); ++i) {
      html += (i == 0 ? "<b>$ </b>" : "\n<b>$ </b>") + escaped(commands.lines[i]);
    }
    return html + "</pre>\n";
  }
};

std::string sectionOf(const Section& section) {
  std::string html = section.half ? "<section class=\"half\">\n" : "<section>\n";
  html += "<header>" + element("h2", section.title);
  if (!section.note.empty()) html += element("span", section.note, "note");
  html += "</header>\n";
  for (const Block& block : section.blocks) html += std::visit(HtmlBlocks{}, block);
  return html + "</section>\n";
}

std::string footerOf(const Document& document) {
  std::string html = "<footer>" + element("span", document.footer);
  if (!document.plan.empty()) {
    html += "<span>The plan is in this page: <a download=\"" + escaped(document.planName) +
            "\" href=\"data:application/json;base64," + base64(document.plan) + "\">" + escaped(document.planName) +
            "</a></span>";
  }
  return html + "</footer>\n";
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr unsigned kBits = 6, kGroup = 3;
  std::string text;
  for (size_t begin = 0; begin < bytes.size(); begin += kGroup) {
    const std::string_view group = bytes.substr(begin, kGroup);
    uint32_t bits = 0;
    for (unsigned i = 0; i < kGroup; ++i) {
      bits = bits << 8U | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (unsigned i = 0; i <= kGroup; ++i) {
      text += i <= group.size() ? kDigits[bits >> (kBits * (kGroup - i)) & 63U] : '=';
    }
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : printable(std::string(text))) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string asHtml(const Document& document) {
  std::string html(kHead);
  html += element("title", document.title) + "\n<style>" + std::string(kStyle) + "</style>\n</head>\n<body>\n<main>\n";
  html += "<header>" + std::string(kLogo) + "<div>" + element("h1", document.title) + element("p", document.subtitle) +
          "</div></header>\n";
  html += bannerOf(document.banner) + "<div class=\"sections\">\n";
  for (const Section& section : document.sections) html += sectionOf(section);
  return html + "</div>\n" + footerOf(document) + "</main>\n</body>\n</html>\n";
}

}  // namespace normlens::engine::report
