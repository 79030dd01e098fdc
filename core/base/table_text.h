// Cells of tables as text that a spreadsheet, or a page of Markdown, takes for what they say. Thread: pure functions.
#pragma once

#include <string>
#include <vector>

namespace normlens {

// Quotes as RFC 4180 does: only where it has to be, quotes doubled.
[[nodiscard]] inline std::string csvField(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// Joins such fields; ends in CR LF.
[[nodiscard]] inline std::string csvLine(const std::vector<std::string>& fields) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : ",") + csvField(fields[i]);
  return line + "\r\n";
}

// Escapes text for a cell of a Markdown table: no bar ends it, no line break either.
[[nodiscard]] inline std::string markdownField(const std::string& field) {
  std::string text;
  for (const char c : field) {
    if (c == '\\' || c == '|') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

}  // namespace normlens
