#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "core/analysis/analysis.h"
#include "core/service/plans/plan_file.h"
#include "tests/support/graph_text.h"
#include "tests/support/must.h"

namespace normlens::service {
namespace {

constexpr const char* kModel = R"(graph {
  input %x: float32[2, 5, 8]
  const %w: float32[8, 8] random 1
  const %scale: float32[8] random 3
  const %beta: float32[8] random 4
  const %w2: float32[8, 8] random 5
  const %b2: float32[8] random 6
  %s: float32[2, 5, 8] = Elementwise(%x)
  %n1: float32[2, 5, 8] = LayerNorm(%s, _, _) {axes = [2], eps = 1e-05} name "a"
  %f: float32[2, 5, 8] = Linear(%n1, %w, _)
  %g: float32[2, 5, 8] = Mul(%f, %scale)
  %h: float32[2, 5, 8] = Add(%s, %g)
  %r: float32[2, 5, 8] = Add(%h, 3)
  %n2: float32[2, 5, 8] = LayerNorm(%r, _, %beta) {axes = [2], eps = 1e-05} name "b"
  %y: float32[2, 5, 8] = Linear(%n2, %w2, %b2)
  return %y
})";

struct Planned {
  [[nodiscard]] std::string text() const { return planToJson(plan, graph, norms, "abc"); }
  [[nodiscard]] Result<fold::FoldPlan> read(const std::string& text) const {
    return planFromJson(text, graph, norms, "abc");
  }

  graph::Graph graph;
  std::vector<analysis::LayerNorm> norms;
  fold::FoldPlan plan;
};

Planned planned() {
  Planned out;
  out.graph = graph::parsed(kModel);
  const auto analysis = *analysis::analyze(out.graph, Task{});
  out.norms = analysis->norms.layerNorms;
  out.plan = {Policy::Balanced, {}};
  for (const auto& edit : analysis::makePlan(*analysis, {}).edits) out.plan.edits.push_back(edit.edit);
  return out;
}

TEST(PlanFile, everyKindOfEditRoundTrips) {
  const Planned made = planned();
  std::set<size_t> kinds;
  for (const auto& edit : made.plan.edits) kinds.insert(edit.index());
  EXPECT_EQ(kinds.size(), std::variant_size_v<fold::Edit>);
  const std::string text = made.text();
  EXPECT_EQ(planToJson(must(made.read(text)), made.graph, made.norms, "abc"), text);
}

// ONNX's strings are bytes: what is no UTF-8 is written as JSON can, and found again.
TEST(PlanFile, namesNeedNotBeUtf8) {
  Planned made = planned();
  for (auto& constant : made.graph.constants) constant.name += "\xff\xc3";
  for (auto& value : made.graph.values) value.name += "\xff\xc3";
  for (auto& norm : made.norms) norm.name += "\xff\xc3";
  const std::string text = made.text();
  const auto read = must(made.read(text));
  EXPECT_EQ(read.edits.size(), made.plan.edits.size());
  EXPECT_EQ(planToJson(read, made.graph, made.norms, "abc"), text);
}

// A fuzzer's: numbers that no int holds, which were cut down to some other one.
TEST(PlanFile, indicesAreWholeAndInRange) {
  const Planned made = planned();
  const std::string text = made.text();
  for (const char* number : {"7.7e37", "1.5", "4294967297", "18446744073709551615", "\"1\""}) {
    std::string bent = text;
    const size_t at = bent.find("\"schema\": 1");
    ASSERT_NE(at, std::string::npos) << text;
    bent.replace(at + 10, 1, number);
    const auto read = made.read(bent);
    ASSERT_FALSE(read) << number;
    EXPECT_NE(read.error().message.find("no index"), std::string::npos) << read.error().message;
  }
}

// A fuzzer's: words of the file in a message that is one line.
TEST(PlanFile, messagesAreOneLine) {
  const char* plan = R"({"schema": 1, "model_sha256": "abc", "policy": "p", "edits": [{"kind": "a\nb"}]})";
  EXPECT_PRED2(contains, failureOf(planned().read(plan)).message, "unknown edit 'a?b'");
}

TEST(PlanFile, anotherModelIsRefused) {
  const Planned made = planned();
  EXPECT_EQ(failureOf(planFromJson(made.text(), made.graph, made.norms, "def")).code, ErrorCode::BadInput);
}

TEST(PlanFile, nonsenseIsRefusedInOneSentence) {
  const Planned made = planned();
  const std::string text = made.text();
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    const size_t at = out.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return out.replace(at, from.size(), to);
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("{\"schema\":1}"), replaced("\"schema\": 1", "\"schema\": 9"),
        replaced("center_constant", "wobble"), replaced("\"w\"", "\"ghost\""), replaced("(8 sum)", "(9 sum)"),
        replaced("\"shift_operand\": 2", "\"shift_operand\": 7")}) {
    const auto read = made.read(bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, ErrorCode::Unreadable);
    EXPECT_EQ(read.error().message.find("json.exception"), std::string::npos) << read.error().message;
  }
  const auto why = [&](const char* bad) { return made.read(bad).error().message; };
  EXPECT_TRUE(why("{\"schema\":").starts_with("not a NormLens plan: parse error at line 1, column 11"));
  EXPECT_EQ(why("{}"), "not a NormLens plan: key 'schema' not found");
  EXPECT_EQ(why("{\"schema\": 1, \"policy\": []}"), "not a NormLens plan: type must be string, but is array");
}

template <class Edit>
Edit& first(Planned& made) {
  const auto found =
      std::ranges::find_if(made.plan.edits, [](const auto& e) { return std::holds_alternative<Edit>(e); });
  return std::get<Edit>(*found);
}

// Edited by hand: what indexes a list of the model is looked at before it does.
TEST(PlanFile, whatIsNotInTheModelIsRefused) {
  constexpr graph::NodeId kElementwise = 0, kLinear = 7;
  const std::function<void(Planned&)> changes[] = {
      [](Planned& p) { first<fold::AbsorbScale>(p).dataOperand = 99; },
      [](Planned& p) { first<fold::AbsorbScale>(p).dataOperand = -1; },
      [](Planned& p) { first<fold::AbsorbScale>(p).scaleNode = kElementwise; },
      [](Planned& p) { first<fold::CenterConstant>(p).uses[0].operand = 99; },
      [](Planned& p) { first<fold::InsertCentering>(p).uses[0].operand = -1; },
      [](Planned& p) {
        first<fold::InsertCentering>(p).uses[0] = {graph::kNone, 0, 99};
      },
      [](Planned& p) {
        first<fold::InsertCentering>(p).uses[0] = {graph::kNone, 99, 0};
      },
      [](Planned& p) { first<fold::DropAddend>(p).uses[0].operand = 99; },
      [](Planned& p) { first<fold::AbsorbShift>(p).parts[0].weightUse.operand = 99; },
      [](Planned& p) {  // three operands: none is the other one
        first<fold::AbsorbShift>(p).shiftNode = kLinear;
        first<fold::AbsorbShift>(p).shiftOperand = 2;
      },
  };
  for (size_t i = 0; i < std::size(changes); ++i) {
    Planned made = planned();
    changes[i](made);
    const auto read = made.read(made.text());
    ASSERT_FALSE(read) << i;
    EXPECT_EQ(read.error().code, ErrorCode::Unreadable) << i;
  }
}

TEST(PlanFile, aCenteringAtRunTimeTakesTheSizesOfNow) {
  Planned made = planned();
  EXPECT_EQ(first<fold::InsertCentering>(made).pattern.text(), "(10)(8 sum)");
  std::string model = kModel;
  for (size_t at = 0; (at = model.find("2, 5, 8", at)) != std::string::npos;) model.replace(at, 7, "3, 7, 8");
  const graph::Graph other = graph::parsed(model);
  const auto read = must(planFromJson(made.text(), other, made.norms, "abc"));
  made.plan = read;
  EXPECT_EQ(first<fold::InsertCentering>(made).pattern.text(), "(21)(8 sum)");
  first<fold::InsertCentering>(made).pattern = *ops::Pattern::parse("(10)(9 sum)");
  const Error misfit =
      failureOf(planFromJson(planToJson(made.plan, other, made.norms, "abc"), other, made.norms, "abc"));
  EXPECT_EQ(misfit.code, ErrorCode::BadInput);
  EXPECT_NE(misfit.message.find("other input sizes"), std::string::npos) << misfit.message;
}

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
