#include <algorithm>

#include "app/engine/verbs/report/document.h"
#include "core/base/printable.h"

namespace normlens::engine::report {
namespace {

std::string rowOf(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + markdownText(cell) + " |";
  return line + "\n";
}

// Returns a fence that is longer than any run of its sign inside.
std::string fenceFor(const std::vector<std::string>& lines) {
  size_t longest = 2, run = 0;
  for (const std::string& line : lines) {
    for (const char c : line) {
      run = c == '`' ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    run = 0;
  }
  return std::string(longest + 1, '`');
}

struct MarkdownBlocks {
  std::string operator()(const Paragraph& paragraph) const { return markdownText(paragraph.text) + "\n\n"; }
  std::string operator()(const Table& table) const {
    const size_t columns =
        table.heads.empty() ? table.rows.empty() ? 0 : table.rows.front().size() : table.heads.size();
    std::string text = rowOf(table.heads.empty() ? std::vector<std::string>(columns) : table.heads) + "|";
    for (size_t i = 0; i < columns; ++i) text += " --- |";
    text += '\n';
    for (const auto& row : table.rows) text += rowOf(row);
    return text + "\n";
  }
  std::string operator()(const Figure& figure) const { return markdownText(figure.alt) + ".\n\n"; }
  std::string operator()(const Graph& /*graph*/) const { return {}; }
  std::string operator()(const Cards& /*cards*/) const { return {}; }
  std::string operator()(const Commands& commands) const {
    const std::string fence = fenceFor(commands.lines);
    std::string text = fence + "sh\n";
    for (const std::string& line : commands.lines) text += printable(line) + "\n";
    return text + fence + "\n\n";
  }
};

size_t widthOf(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

const char* signOf(Tone tone) {
  switch (tone) {
    case Tone::Good:
      return "✓ ";
    case Tone::Bad:
      return "✗ ";
    case Tone::Neutral:
      break;
  }
  return "";
}

}  // namespace

std::string markdownText(std::string_view text) {
  constexpr std::string_view kMeaning = "\\`*_[]<>#|~&!@";
  std::string out;
  for (const char c : printable(std::string(text))) {
    if (kMeaning.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string asMarkdown(const Document& document) {
  std::string text = "# " + markdownText(document.title) + "\n\n" + markdownText(document.subtitle) + "\n\n";
  const Banner& banner = document.banner;
  text += "**" + std::string(signOf(banner.tone)) + markdownText(banner.title) + "**\n\n" + markdownText(banner.text) +
          "\n\n";
  Table figures;
  for (const auto& [figure, what] : banner.figures) figures.rows.push_back({what, figure});
  if (!figures.rows.empty()) text += MarkdownBlocks{}(figures);
  for (const Section& section : document.sections) {
    std::string blocks;
    for (const Block& block : section.blocks) blocks += std::visit(MarkdownBlocks{}, block);
    if (blocks.empty()) continue;
    text += "## " + markdownText(section.title) + "\n\n";
    if (!section.note.empty()) text += markdownText(section.note) + "\n\n";
    text += blocks;
  }
  return text + markdownText(document.footer) + "\n";
}

std::vector<std::string> asLines(const Table& table) {
  std::vector<std::vector<std::string>> rows{table.heads};
  rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  std::vector<size_t> widths(table.heads.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], widthOf(row[i]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string& line = lines.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - widthOf(row[i]), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
  }
  return lines;
}

}  // namespace normlens::engine::report
