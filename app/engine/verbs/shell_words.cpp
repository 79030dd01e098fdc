#include "app/engine/verbs/shell_words.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>

namespace normlens::engine {

std::string shellWord(const std::string& word) {
  constexpr std::string_view kPlain = "-_./=,:+%@^";
  const bool isPlain = std::ranges::all_of(word, [&](unsigned char c) {
    return std::isalnum(c) || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (isPlain && !word.empty()) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string commandLine() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line;
  for (std::string word; std::getline(file, word, '\0');) line += (line.empty() ? "" : " ") + shellWord(word);
  return line;
}

}  // namespace normlens::engine
