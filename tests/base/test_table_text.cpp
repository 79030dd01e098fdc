#include <gtest/gtest.h>

#include "core/base/table_text.h"

namespace normlens {
namespace {

TEST(TableText, CsvQuotesWhatItHasTo) {
  EXPECT_EQ(csvLine({"a", "b,c", "he said \"no\"", ""}), "a,\"b,c\",\"he said \"\"no\"\"\",\r\n");
  EXPECT_EQ(csvLine({"", "x"}), ",x\r\n");
  EXPECT_EQ(csvField("two\nlines"), "\"two\nlines\"");
}

TEST(TableText, NothingEndsAMarkdownCell) { EXPECT_EQ(markdownField("a|b\\c\nd"), "a\\|b\\\\c d"); }

}  // namespace
}  // namespace normlens
