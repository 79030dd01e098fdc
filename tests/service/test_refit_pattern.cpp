#include "core/service/plans/refit_pattern.h"

#include <gtest/gtest.h>

namespace normlens::service {
namespace {

TEST(RefitPattern, WhatIsKeptTakesTheSizeOfNow) {
  struct Row {
    const char* made;
    graph::Shape shape;
    const char* now;  // empty: it cannot be told
  };
  const Row rows[] = {
      {"(10)(8 sum)", {2, 5, 8}, "(10)(8 sum)"},
      {"(10)(8 sum)", {3, 7, 8}, "(21)(8 sum)"},
      {"(20)(4 sum)", {3, 7, 8}, "(42)(4 sum)"},  // per head
      {"(10)(8 sum of 0:4)", {3, 7, 8}, "(21)(8 sum of 0:4)"},
      {"(10)(9 sum)", {3, 7, 8}, ""},
      {"(2)(8 sum)(5)", {2, 8, 5}, "(2)(8 sum)(5)"},
      {"(2)(8 sum)(5)", {3, 8, 7}, "(3)(8 sum)(7)"},
      {"(2)(8 sum)(5)", {5, 8, 2}, "(5)(8 sum)(2)"},
      {"(2)(8 sum)(20)", {3, 8, 6, 7}, "(3)(8 sum)(42)"},
      {"(2)(8 sum)(5)", {8, 8, 5}, ""},  // either axis
      {"(8 sum)(5)", {3, 8, 7}, ""},     // there was no batch
      {"(10)(8 sum)", {0, 7, 8}, ""},
  };
  for (const Row& row : rows) {
    const auto now = refitted(*ops::Pattern::parse(row.made), row.shape);
    EXPECT_EQ(now ? now->text() : "", row.now) << row.made;
  }
}

}  // namespace
}  // namespace normlens::service
