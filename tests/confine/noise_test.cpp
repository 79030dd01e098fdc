#include "core/confine/worker.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace normlens::confine {
namespace {

std::vector<std::string> told(const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  Noise noise([&](std::string_view line) { lines.emplace_back(line); });
  for (const std::string& piece : pieces) noise.feed(piece);
  noise.end();
  return lines;
}

TEST(Noise, IsLinesWithoutControlCharacters) {
  EXPECT_EQ(told({"a\x1b[2Jb\r\n\n", "c", "d\x07"}), (std::vector<std::string>{"a?[2Jb?", "cd?"}));
  EXPECT_EQ(told({"\xC2",
                  "\x9B"
                  "31m \xC3\xA4"}),
            (std::vector<std::string>{"??31m \xC3\xA4"}));
  EXPECT_EQ(told({"safe\xE2\x80", "\xAE exe"}), (std::vector<std::string>{"safe??? exe"}));
}

TEST(Noise, EndsWhereNobodyReadsOn) {
  const auto lines = told({std::string(3000, 'x') + "\n", std::string(1 << 18, '\n'), "last\n"});
  EXPECT_EQ(lines.front().size(), Noise::kLongestLine);
  EXPECT_EQ(lines.back(), "what is printed beyond this is dropped");
}

}  // namespace
}  // namespace normlens::confine
