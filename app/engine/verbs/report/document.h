// A page before it is HTML, Markdown or lines of a terminal: plain text everywhere, which only the writers escape.
// Thread: value types and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/protocol/report_messages.h"

namespace normlens::engine::report {

enum class Tone { Good, Bad, Neutral };

// The verdict on top, and the few numbers that matter. A number that was not measured is left out.
struct Banner {
  Tone tone = Tone::Neutral;
  std::string title, text;
  std::vector<std::pair<std::string, std::string>> figures;  // "25 / 25" "norms folded"
};

// Text that leads to another place of the page.
struct Link {
  std::string text, id;
};

struct Table {
  std::vector<std::string> heads;  // empty: the table has none
  std::vector<std::vector<std::string>> rows;
  std::optional<size_t> linked = {};          // the column that consists of links
  std::vector<std::vector<Link>> links = {};  // by row; joined, their texts are the cell's
};

// A drawing made by figures.h, which escapes what it writes, or checked by last_fold.h, and what it shows in words,
// for who does not see it. legend: what its signs mean; for who does.
struct Figure {
  std::string svg, alt;
  std::string legend = {};
};

// A LayerNorm as it is shown where it is selected; of a closed group, a link to each of its LayerNorms.
struct Card {
  std::string id, title;           // id: made by the composer, of letters, digits and hyphens
  std::string name;                // the file's, where the title is another
  std::vector<std::string> marks;  // "free", "folded"
  std::vector<std::string> texts;
  std::vector<std::pair<std::string, std::string>> figures;  // "difference after it, float64" "2e-15"
  std::vector<Link> links = {};
};

struct Cards {
  std::vector<Card> cards;
};

// Pictures of one layout, one of which is shown at a time: the last one until the reader chooses.
struct Graph {
  protocol::ReportGraph drawing;  // checked by last_fold.h; without pictures: there is none
  std::vector<Link> links;        // by place: to its card, with words for who does not see the graph
  std::string missing;            // why there is no drawing
};

struct Paragraph {
  std::string text;
};

// Lines for a shell.
struct Commands {
  std::vector<std::string> lines;
};

using Block = std::variant<Paragraph, Table, Figure, Commands, Graph, Cards>;

struct Section {
  std::string title, note;  // note: small, at the right of the title
  bool half = false;        // placed beside its neighbor where there is room
  std::vector<Block> blocks;
};

struct Document {
  std::string title, subtitle;
  Banner banner;
  std::vector<Section> sections;
  std::string planName, plan;  // a file to be taken along, and its text; empty: there is none
  std::string footer;
};

// One HTML page: nothing from elsewhere, light and dark, one column where it is narrow, and made for A4. Its one script
// (resources/report/page.js) moves the graph; without it, pictures are switched and cards are shown by the style alone.
[[nodiscard]] std::string asHtml(const Document& document);
// Markdown (GitHub's), for a pull request: tables, fenced commands; a chart becomes words, a graph nothing.
[[nodiscard]] std::string asMarkdown(const Document& document);
// The lines of a table in a terminal, the heads first: columns as wide as their widest cell, in characters of UTF-8,
// the first flush left, the others right.
[[nodiscard]] std::vector<std::string> asLines(const Table& table);

// Text, or the value of a quoted attribute. What moves the cursor or turns the direction of reading becomes '?'.
[[nodiscard]] std::string escaped(std::string_view text);
// Text in which no sign means anything to Markdown or to the HTML that it may hold.
[[nodiscard]] std::string markdownText(std::string_view text);

}  // namespace normlens::engine::report
