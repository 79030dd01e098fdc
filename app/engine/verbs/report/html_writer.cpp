#include "app/engine/verbs/report/html_writer.h"

#include <cctype>

#include "app/engine/verbs/report/base64.h"
#include "app/engine/verbs/report/html_style.h"
#include "core/base/printable.h"

namespace normlens::engine::report {
namespace {

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
