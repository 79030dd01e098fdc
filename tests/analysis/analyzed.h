// A graph written as text with its analysis and its plans: what folds, and whether the outputs stay as they are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "core/analysis/analysis.h"
#include "tests/support/apply_plan.h"
#include "tests/support/graph_builder.h"
#include "tests/support/graph_interpreter.h"
#include "tests/support/graph_text.h"

namespace normlens::analysis {

using graph::parsed;

constexpr Policy kPolicies[] = {Policy::Free, Policy::Balanced, Policy::All};

inline PlanOptions optionsOf(Policy policy, double maxGrowthPercent = PlanOptions().maxGrowthPercent) {
  PlanOptions options;
  options.policy = policy;
  options.maxGrowthPercent = maxGrowthPercent;
  return options;
}

// A norm, which makes %n of %x or of the linear %h, with %g and %beta; then `rest`, which reads %n and says what is
// returned.
inline std::string betweenLinears(const std::string& norm, const std::string& rest) {
  return R"(graph {
  input %x: float64[2, 5, 8]
  const %w: float64[8, 8] random 1
  const %b: float64[8] random 2
  const %g: float64[8] random 3
  const %beta: float64[8] random 4
  const %w1: float64[6, 8] random 5
  const %b1: float64[6] random 6
  const %w2: float64[8, 6] random 7
  const %b2: float64[6] random 8
  %h: float64[2, 5, 8] = Linear(%x, %w, %b)
  )" + norm +
         "\n" + rest + "\n}";
}

// The largest difference of an output between a graph and the same graph with the plan carried out, on random inputs.
template <class AnyPlan>
double differenceOf(const graph::Graph& graph, const std::vector<LayerNorm>& norms, const AnyPlan& plan) {
  const graph::Graph folded = testing::applyPlan(graph, norms, plan);
  std::mt19937 random(7);
  double difference = 0;
  for (int draw = 0; draw < 3; ++draw) {
    const auto inputs = testing::drawInputs(graph, random);
    difference = std::max(difference,
                          testing::maxRelative(testing::interpret(graph, inputs), testing::interpret(folded, inputs)));
  }
  return difference;
}

// Not copyable: the analysis refers to the graph.
class Analyzed {
 public:
  explicit Analyzed(const std::string& text) : graph_(parsed(text)), analysis_(analyze(graph_, Task{}).value()) {}
  Analyzed(const Analyzed&) = delete;
  Analyzed& operator=(const Analyzed&) = delete;
  ~Analyzed() = default;

  const Analysis& operator*() const { return *analysis_; }
  const Analysis* operator->() const { return analysis_.get(); }
  [[nodiscard]] const graph::Graph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<LayerNorm>& norms() const { return analysis_->norms.layerNorms; }
  [[nodiscard]] Plan plan(Policy policy) const { return makePlan(*analysis_, optionsOf(policy)); }
  [[nodiscard]] double difference(const Plan& plan) const { return differenceOf(graph_, norms(), plan); }

 private:
  graph::Graph graph_;
  std::unique_ptr<Analysis> analysis_;
};

struct Found {
  size_t norms = 0, folded = 0;
  Verdict verdict = Verdict::Blocked;
  std::string reason;
  int centerings = 0;
  double difference = 0;
};

inline Found found(const std::string& text, Policy policy = Policy::All) {
  const Analyzed model(text);
  const Plan plan = model.plan(policy);
  Found out{model.norms().size(), plan.folded.size(), {}, {}, plan.centerings, model.difference(plan)};
  if (out.norms > 0) {
    out.verdict = model->verdicts[0].verdict;
    out.reason = model->verdicts[0].reason;
  }
  return out;
}

// One norm, which folds exactly behind so many centerings; without any it is free.
inline void expectFolded(const std::string& text, int centerings = 0) {
  const Found norm = found(text, centerings == 0 ? Policy::Free : Policy::All);
  EXPECT_EQ(norm.norms, 1U) << text;
  EXPECT_EQ(norm.verdict == Verdict::Free, centerings == 0) << norm.reason;
  EXPECT_EQ(norm.folded, 1U) << norm.reason << text;
  EXPECT_EQ(norm.centerings, centerings);
  EXPECT_LT(norm.difference, 1e-12) << text;
}

inline void expectNone(const std::string& text) { EXPECT_EQ(findNorms(parsed(text)).layerNorms.size(), 0U) << text; }

// Found, and left as it is for a reason with these words.
inline void expectKept(const std::string& text, const std::string& words) {
  const Found norm = found(text);
  EXPECT_EQ(norm.norms, 1U) << text;
  EXPECT_EQ(norm.folded, 0U) << text;
  EXPECT_NE(norm.reason.find(words), std::string::npos) << norm.reason;
  EXPECT_EQ(norm.difference, 0);
}

}  // namespace normlens::analysis
