#include <algorithm>
#include <cctype>
#include <cstdint>
#include <span>
#include <string_view>

#include "app/engine/report_page.h"
#include "app/engine/verbs/report/document.h"
#include "core/base/bytes/base64.h"
#include "core/base/formatted.h"
#include "core/base/printable.h"
#include "core/formats/file/file_hash.h"

namespace normlens::engine::report {
namespace {

// The program's sign: a norm on the stream, and the mean that it takes out.
constexpr std::string_view kLogo =
    "<svg class=\"logo\" width=\"28\" height=\"44\" viewBox=\"0 0 28 44\" aria-hidden=\"true\">"
    "<path d=\"M14 2v8M14 34v8M9 22h10\"/><circle cx=\"14\" cy=\"22\" r=\"11\"/></svg>";

// The bytes that hexadecimal digits stand for.
std::string bytesOf(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// A stranger's file decides much of the text: were one place not escaped, no other script would run and nothing be
// fetched.
std::string headOf() {
  const std::string hash = base64(bytesOf(formats::sha256Hex(std::as_bytes(std::span(std::string_view(kPageScript))))));
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-" +
         hash +
         "'; style-src 'unsafe-inline'; img-src data:\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n";
}

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

std::string linkTo(const Link& link) {
  return link.id.empty() ? escaped(link.text) : "<a href=\"#" + link.id + "\">" + escaped(link.text) + "</a>";
}

std::string linksTo(const std::vector<Link>& links) {
  std::string html;
  for (const Link& link : links) html += (html.empty() ? "" : ", ") + linkTo(link);
  return html;
}

std::string rowOf(const Table& table, size_t row, const std::vector<bool>& numbers) {
  std::string html = "<tr>";
  for (size_t i = 0; i < table.rows[row].size(); ++i) {
    html += table.linked == i ? "<td>" + linksTo(table.links[row]) + "</td>"
                              : element("td", table.rows[row][i], numbers[i] ? "number" : "");
  }
  return html + "</tr>\n";
}

// The neighbors are named by their place: names are long.
std::string cardOf(const Cards& all, size_t index) {
  const Card& card = all.cards[index];
  const std::string title = card.id + "-title";
  std::string html = "<article class=\"card\" id=\"" + card.id + "\" tabindex=\"-1\" aria-labelledby=\"" + title +
                     "\"><h3 id=\"" + title + "\">" + escaped(card.title) + "</h3>\n";
  if (!card.name.empty()) html += element("p", card.name, "name");
  html += "<p class=\"marks\">";
  for (const std::string& mark : card.marks) html += element("span", mark);
  html += "</p>\n";
  for (const std::string& text : card.texts) html += element("p", text);
  if (!card.figures.empty()) {
    html += "<dl>";
    for (const auto& [what, figure] : card.figures)
      html += "<div>" + element("dt", what) + element("dd", figure) + "</div>";
    html += "</dl>\n";
  }
  if (!card.links.empty()) html += "<p>" + linksTo(card.links) + "</p>\n";
  return html + "</article>\n";
}

// A link over each place that shows norms, for the pointer, the keyboard and a screen reader.
std::string spotsOf(const Graph& graph) {
  std::string svg;
  for (size_t i = 0; i < graph.links.size(); ++i) {
    const protocol::ReportPlace& at = graph.drawing.places[i];
    const std::string words = escaped(graph.links[i].text);
    svg += "<a class=\"spot\" href=\"#" + graph.links[i].id + "\" aria-label=\"" + words + "\"><title>" + words +
           "</title>" +
           formatted(R"(<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6"/></a>)", at.x - 2, at.y - 2,
                     at.width + 4, at.height + 4) +
           "\n";
  }
  return svg;
}

// The drawing once more for paper: cut into columns that can be read, beside each other.
std::string columnsOf(const protocol::ReportGraph& graph) {
  constexpr double kColumn = 330, kPaper = 900, kOverlap = 24;  // CSS pixels of a page; a node's height
  const bool wide = graph.width > graph.height;
  const double scale = std::min(1.0, (wide ? 2 * kColumn : kColumn) / graph.width), step = kPaper / scale;
  std::string html = "<div class=\"columns\">\n";
  double top = 0;
  do {
    const double height = std::min(step, graph.height - top);
    html += formatted(R"(<svg aria-hidden="true" width="%.0f" height="%.0f" viewBox="0 %.1f %.1f %.1f">)",
                      graph.width * scale, height * scale, top, graph.width, height) +
            formatted("<use href=\"#drawing-%zu\"/></svg>\n", graph.pictures.size() - 1);
    top += step - kOverlap;
  } while (top + kOverlap < graph.height);
  return html + "</div>\n";
}

std::string switchOf(const protocol::ReportGraph& graph) {
  std::string html =
      "<div class=\"bar\"><span class=\"switch\" role=\"radiogroup\" aria-label=\"Picture of the graph\">";
  for (size_t i = 0; i < graph.pictures.size(); ++i) {
    const std::string id = "show-" + std::to_string(i);
    html += "<input type=\"radio\" name=\"picture\" id=\"" + id + "\"" +
            (i + 1 == graph.pictures.size() ? " checked" : "") + "><label for=\"" + id + "\">" +
            escaped(graph.pictures[i].title) + "</label>";
  }
  return html +
         "</span>\n<span class=\"zoom\"><button type=\"button\" id=\"zoom-out\" aria-label=\"Zoom out\">−</button>"
         "<output id=\"zoom-value\">100%</output>"
         "<button type=\"button\" id=\"zoom-in\" aria-label=\"Zoom in\">+</button>"
         "<button type=\"button\" id=\"zoom-fit\">Fit</button></span></div>\n";
}

// The colors of the drawings, as the style sheet names them.
std::string colorsOf(const protocol::ReportGraph& graph) {
  std::string light, dark;
  for (size_t i = 0; i < graph.colors.size(); ++i) {
    const std::string name = "--g" + std::to_string(i) + ":";
    light += name + graph.colors[i].light + ";";
    dark += name + graph.colors[i].dark + ";";
  }
  return "<style>.graph{" + light + "}@media screen and (prefers-color-scheme: dark){.graph{" + dark + "}}</style>\n";
}

struct HtmlBlocks {
  std::string operator()(const Paragraph& paragraph) const { return element("p", paragraph.text) + "\n"; }
  std::string operator()(const Table& table) const {
    const auto numbers = columnsOfNumbers(table);
    std::string html = "<table>\n";
    if (!table.heads.empty()) {
      html += "<thead><tr>";
      for (size_t i = 0; i < table.heads.size(); ++i)
        html += element("th", table.heads[i], i < numbers.size() && numbers[i] ? "number" : "");
      html += "</tr></thead>\n";
    }
    html += "<tbody>\n";
    for (size_t row = 0; row < table.rows.size(); ++row) html += rowOf(table, row, numbers);
    return html + "</tbody>\n</table>\n";
  }
  std::string operator()(const Figure& figure) const {
    const std::string legend = figure.legend.empty() ? "" : element("figcaption", figure.legend);
    return "<figure>" + legend + figure.svg + "</figure>\n";
  }
  std::string operator()(const Commands& commands) const {
    std::string html = "<pre>";
    for (size_t i = 0; i < commands.lines.size(); ++i) {
      html += (i == 0 ? "<b>$ </b>" : "\n<b>$ </b>") + escaped(commands.lines[i]);
    }
    return html + "</pre>\n";
  }
  std::string operator()(const Graph& graph) const {
    const protocol::ReportGraph& drawing = graph.drawing;
    if (drawing.pictures.empty()) return element("p", graph.missing) + "\n";
    std::string html = "<div class=\"graph\">\n" + colorsOf(drawing) + switchOf(drawing) +
                       "<div class=\"view\" id=\"view\" tabindex=\"0\" role=\"group\" aria-label=\"Graph\" "
                       "aria-describedby=\"keys\">\n";
    const std::string size = formatted(R"( width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f")", drawing.width,
                                       drawing.height, drawing.width, drawing.height);
    for (size_t i = 0; i < drawing.pictures.size(); ++i) {
      const protocol::ReportPicture& picture = drawing.pictures[i];
      const std::string number = std::to_string(i);
      html += "<figure class=\"picture\" id=\"picture-" + number + "\">" + element("figcaption", picture.title) +
              "<svg role=\"group\" aria-label=\"" + escaped(picture.alt) + "\"" + size + "><g id=\"drawing-" + number +
              "\" aria-hidden=\"true\">" + picture.svg + "</g>\n" + spotsOf(graph) + "</svg></figure>\n";
    }
    return html +
           "</div>\n<p class=\"keys\" id=\"keys\">Drag to move, turn the wheel to zoom. Keys: arrows move, + and − "
           "zoom, 0 fits, B switches the picture, Tab and Enter select a norm.</p>\n" +
           columnsOf(drawing) + "</div>\n";
  }
  std::string operator()(const Cards& cards) const {
    std::string html = "<aside class=\"panel\" id=\"panel\" aria-label=\"Selected norm\" aria-live=\"polite\">\n";
    html += element("p", "Select a norm: its verdict, its reason and its figures are shown here.", "hint") + "\n";
    for (size_t i = 0; i < cards.cards.size(); ++i) html += cardOf(cards, i);
    return html + "</aside>\n";
  }
};

bool holdsGraph(const Section& section) {
  return std::ranges::any_of(section.blocks, [](const Block& block) {
    const auto* graph = std::get_if<Graph>(&block);
    return graph != nullptr && !graph->drawing.pictures.empty();
  });
}

std::string sectionOf(const Section& section) {
  std::string html = section.half          ? "<section class=\"half\">\n"
                     : holdsGraph(section) ? "<section class=\"stage\">\n"
                                           : "<section>\n";
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
  std::string html =
      headOf() + element("title", document.title) + "\n<style>" + kPageStyle + "</style>\n</head>\n<body>\n<main>\n";
  html += "<header>" + std::string(kLogo) + "<div>" + element("h1", document.title) + element("p", document.subtitle) +
          "</div></header>\n";
  html += bannerOf(document.banner) + "<div class=\"sections\">\n";
  for (const Section& section : document.sections) html += sectionOf(section);
  return html + "</div>\n" + footerOf(document) + "</main>\n<script>" + kPageScript + "</script>\n</body>\n</html>\n";
}

}  // namespace normlens::engine::report
