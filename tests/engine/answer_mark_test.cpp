#include <gtest/gtest.h>

#include "app/engine/serve/serve_side.h"
#include "tests/support/must.h"

namespace normlens::engine::test {
namespace {

TEST(AnswerMark, SaysWhatABodyAnswers) {
  for (const auto& answered : {protocol::Answered{7, true}, protocol::Answered{-8, false}}) {
    const std::string text = marked("{}\nmore", &answered);
    std::string_view body = text;
    const auto read = must(takeMark(body));
    EXPECT_EQ(read.id, answered.id);
    EXPECT_EQ(read.withResult, answered.withResult);
    EXPECT_EQ(body, "{}\nmore");
  }
}

TEST(AnswerMark, NothingElseIsAnAnswer) {
  const std::string plain = marked("{}", nullptr);
  for (const std::string_view text :
       {std::string_view(plain), std::string_view("result x\n{}"), std::string_view("results 7\n{}"),
        std::string_view("result "), std::string_view()}) {
    std::string_view body = text;
    EXPECT_FALSE(takeMark(body)) << text;
  }
}

}  // namespace
}  // namespace normlens::engine::test
