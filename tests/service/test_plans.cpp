// Plans through the facade: what may be asked for, where one may be saved, the file of a plan, and one LayerNorm folded
// whatever its verdict.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <set>

#include "core/analysis/analysis.h"
#include "core/service/plans/plan_file.h"
#include "tests/service/demo_service.h"
#include "tests/support/graph_text.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::service {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Plans : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(kDemos / "gpt2.pt", model_);
    service_.analyzed(model_);
  }

  TemporaryFolder folder_;
  const std::filesystem::path model_ = folder_ / "model.pt", saved_ = folder_ / "plan.json";
  DemoService service_;
};

TEST_F(Plans, AGrowthBelowNothingIsRefused) {
  protocol::PlanParams params;
  for (const double percent :
       {-1.0, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    params.max_growth_percent = percent;
    const auto plan = service_.plan(params, Task{});
    ASSERT_FALSE(plan) << percent;
    EXPECT_EQ(plan.error().code, ErrorCode::Usage);
  }
  params.max_growth_percent = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(service_.plan(params, Task{}));
}

TEST_F(Plans, ACopyOrACenteringIsTheUsersChoiceAndEitherIsProved) {
  protocol::FoldParams params;
  const auto centered = service_.fold(params, Task{});
  ASSERT_TRUE(centered && centered->ok);
  ASSERT_EQ(centered->plan.norms.size(), 9U);
  const auto& first = centered->plan.norms[0];
  EXPECT_EQ(first.state, NormOutcome::FoldedWithCentering);
  EXPECT_NE(first.because.find("a copy of wte.weight would add 131 kB"), std::string::npos) << first.because;
  EXPECT_EQ(centered->plan.norms[1].state, NormOutcome::Folded);
  ASSERT_EQ(first.ways.size(), 2U);
  EXPECT_TRUE(first.ways[1].chosen);
  params.plan.copy_values = {first.ways[0].value};
  const auto copied = service_.fold(params, Task{});
  ASSERT_TRUE(copied && copied->ok);
  EXPECT_EQ(copied->plan.centerings, 0);
  EXPECT_EQ(copied->plan.bytes_grown, first.ways[0].bytes_grown);
  EXPECT_TRUE(copied->plan.norms[0].ways.at(0).chosen);
}

TEST_F(Plans, WithoutOneEditAllStaysThatDoesNotNeedIt) {
  const auto whole = must(service_.plan({}, Task{}));
  for (const auto& edit : whole.edits) {
    if (edit.kind != EditKind::CenterConstant && edit.kind != EditKind::InsertCentering) continue;
    protocol::FoldParams params;
    params.plan.keep_values = edit.values;
    const auto without = service_.fold(params, Task{});
    ASSERT_TRUE(without) << edit.text << ": " << without.error().message;
    EXPECT_TRUE(without->ok || without->plan.folded.empty()) << edit.text << ": " << without->reason;
    for (const auto& other : without->plan.edits) EXPECT_NE(other.values, edit.values) << edit.text;
  }
  protocol::PlanParams params;
  params.keep_values = {-1};
  EXPECT_EQ(service_.plan(params, Task{}).error().code, ErrorCode::Usage);
}

TEST_F(Plans, OnlyWhatWasFoldedIsSavedAndNotOverTheModel) {
  std::ofstream(saved_) << "precious";
  EXPECT_FALSE(service_.savePlanFile(saved_));
  EXPECT_EQ(contents(saved_), "precious");
  service_.folded();
  const std::string before = contents(model_);
  EXPECT_EQ(failureOf(service_.savePlanFile(model_)).code, ErrorCode::Usage);
  EXPECT_EQ(contents(model_), before);
  ASSERT_TRUE(service_.savePlanFile(saved_));
  EXPECT_TRUE(service_.usePlanFile(saved_));
  EXPECT_FALSE(service_.savePlanFile(folder_ / "none/plan.json"));
}

constexpr const char* kTypes[] = {"float64", "float32", "bfloat16", "float16"};

class ForcedErrorsOfBert : public testing::Test {
 protected:
  protocol::ForcedError measure(int norm, const std::string& dtype) {
    return must(service_.forcedError({norm, dtype}, Task{}));
  }

  DemoService service_;
  protocol::Analysis analysis_ = service_.analyzed("bert.pt");
};

TEST_F(ForcedErrorsOfBert, ABlockedNormGivesOtherOutputsAndAFreeOneRoundsOnly) {
  ASSERT_EQ(analysis_.norms[0].verdict, Verdict::Free);
  ASSERT_EQ(analysis_.norms[5].verdict, Verdict::Blocked);
  for (const char* type : kTypes) {
    const auto free = measure(0, type), blocked = measure(5, type);
    EXPECT_EQ(free.error, "");
    EXPECT_EQ(blocked.error, "");
    EXPECT_LE(free.max_rel, free.limit) << type;
    EXPECT_GT(blocked.max_rel, 1e-3) << type;
    EXPECT_GT(blocked.limit, 0) << type;
  }
  const auto exact = measure(5, "float64");
  EXPECT_GT(exact.max_rel, 1e6 * exact.limit);
}

TEST_F(ForcedErrorsOfBert, TheLastFoldStays) {
  service_.folded();
  protocol::DiffParams compared;
  compared.dtype = "float32";
  const auto before = service_.diff(compared, Task{});
  EXPECT_GT(measure(5, "float32").max_rel, 1e-3);
  const auto after = service_.diff(compared, Task{});
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->rows.back().max_rel, after->rows.back().max_rel);
}

TEST_F(ForcedErrorsOfBert, WhatIsNotThereIsRefused) {
  EXPECT_FALSE(service_.forcedError({99, "float32"}, Task{}));
  EXPECT_FALSE(service_.forcedError({0, "int8"}, Task{}));
  EXPECT_FALSE(Service().forcedError({0, "float32"}, Task{}));
}

TEST_F(ForcedErrorsOfBert, TheBlockerIsTheNormBefore) {
  const auto& blocker = analysis_.norms[5].blocker;
  ASSERT_TRUE(blocker);
  EXPECT_EQ(blocker->node, analysis_.norms[4].node);
  EXPECT_EQ(blocker->reason, "γ varies");
  EXPECT_EQ(service_.model()->graph().value(blocker->gamma).name, "layer.1.ln_2.weight");
  EXPECT_FALSE(analysis_.norms[0].blocker);
}

TEST_F(ForcedErrorsOfBert, PricesAreMeasuredWhereNoPlanHingesOnThem) {
  const auto prices = must(service_.normPrices({}, Task{}));
  EXPECT_GT(prices.rows * prices.width, 0);
  EXPECT_GT(prices.layer_norm_us, 0);
  protocol::BenchParams elsewhere;
  elsewhere.device = "tpu";  // what was measured on the CPU is no answer
  EXPECT_FALSE(service_.normPrices(elsewhere, Task{}));
}

constexpr const char* kModel = R"(graph {
  input %x: float32[2, 5, 8]
  const %w: float32[8, 8] random 1
  const %scale: float32[8] random 3
  const %beta: float32[8] random 4
  const %gamma: float32[8] random 7
  const %w2: float32[8, 8] random 5
  const %b2: float32[8] random 6
  %s: float32[2, 5, 8] = Elementwise(%x)
  %n1: float32[2, 5, 8] = LayerNorm(%s, _, _) {axes = [2], eps = 1e-05} name "a"
  %f: float32[2, 5, 8] = Linear(%n1, %w, _)
  %g: float32[2, 5, 8] = Mul(%f, %scale)
  %h: float32[2, 5, 8] = Add(%s, %g)
  %r: float32[2, 5, 8] = Add(%h, 3)
  %n2: float32[2, 5, 8] = LayerNorm(%r, %gamma, %beta) {axes = [2], eps = 1e-05} name "b"
  %y: float32[2, 5, 8] = Linear(%n2, %w2, %b2)
  return %y
})";

// Returns what the model's file is known by: each kind of hash finds "abc" in it.
std::string abc(formats::HashKind) { return "abc"; }

struct Planned {
  [[nodiscard]] std::string text() const { return planToJson(plan, graph, norms, "abc"); }
  [[nodiscard]] Result<fold::FoldPlan> read(const std::string& text) const {
    return planFromJson(text, graph, norms, abc);
  }

  graph::Graph graph;
  std::vector<analysis::LayerNorm> norms;
  fold::FoldPlan plan;
};

// Gives back the mean of what the first linear makes; this plan has no such edit of its own.
fold::RestoreMean restored(const graph::Graph& graph) {
  fold::RestoreMean out;
  for (graph::NodeId id = 0; id < static_cast<graph::NodeId>(graph.nodes.size()); ++id) {
    const graph::Node& node = graph.node(id);
    if (node.kind != graph::OpKind::Linear) continue;
    out.value = node.outputs[0];
    out.uses = graph.value(out.value).uses;
    out.linears.push_back({id, 0, graph.value(node.operands[1]).constant, 1});
    out.constants.push_back({id, 1, graph::kNone});
    out.values.push_back({id, 0, graph::kNone});
    out.earlier.push_back(out.value);
    break;
  }
  return out;
}

Planned planned() {
  Planned out;
  out.graph = graph::parsed(kModel);
  const auto analysis = *analysis::analyze(out.graph, Task{});
  out.norms = analysis->norms.layerNorms;
  out.plan = {Policy::Balanced, {}};
  analysis::PlanOptions options;
  options.foldGains = true;
  for (const auto& edit : analysis::makePlan(*analysis, options).edits) out.plan.edits.push_back(edit.edit);
  out.plan.edits.emplace_back(restored(out.graph));
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
  const auto def = [](formats::HashKind) { return std::string("def"); };
  EXPECT_EQ(failureOf(planFromJson(made.text(), made.graph, made.norms, def)).code, ErrorCode::BadInput);
}

// Plans of earlier versions know their file by its SHA-256.
TEST(PlanFile, isReadByTheHashThatItWasMadeWith) {
  using formats::HashKind;
  const Planned made = planned();
  const std::string text = made.text(), name = "model_xxh3";
  const auto only = [](HashKind wanted) {
    return [wanted](HashKind kind) { return std::string(kind == wanted ? "abc" : "other"); };
  };
  EXPECT_TRUE(planFromJson(text, made.graph, made.norms, only(HashKind::Xxh3)));
  EXPECT_FALSE(planFromJson(text, made.graph, made.norms, only(HashKind::Sha256)));
  std::string old = text;
  old.replace(old.find(name), name.size(), "model_sha256");
  EXPECT_TRUE(planFromJson(old, made.graph, made.norms, only(HashKind::Sha256)));
  EXPECT_FALSE(planFromJson(old, made.graph, made.norms, only(HashKind::Xxh3)));
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
  EXPECT_EQ(why("{\"schema\":"), "not a NormLens plan: no JSON, or cut off, at byte 11");
  for (const char* bad : {"{}", "null", "{\"schema\": 1, \"policy\": []}"}) {
    EXPECT_EQ(why(bad), "not a NormLens plan: a field is missing or of another type");
  }
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
      [](Planned& p) { first<fold::AbsorbGain>(p).gainNode = 99; },
      [](Planned& p) { first<fold::AbsorbGain>(p).gainOperand = 0; },  // what is normalized
      [](Planned& p) { first<fold::AbsorbGain>(p).gainNode = kLinear; },
      [](Planned& p) { first<fold::AbsorbGain>(p).parts.clear(); },
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
  const auto read = must(planFromJson(made.text(), other, made.norms, abc));
  made.plan = read;
  EXPECT_EQ(first<fold::InsertCentering>(made).pattern.text(), "(21)(8 sum)");
  first<fold::InsertCentering>(made).pattern = *ops::Pattern::parse("(10)(9 sum)");
  const Error misfit = failureOf(planFromJson(planToJson(made.plan, other, made.norms, "abc"), other, made.norms, abc));
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
