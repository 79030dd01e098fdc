// What is found in a graph written as text, and what folding it brings and changes.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>

#include "core/analysis/analysis.h"
#include "tests/support/apply_plan.h"
#include "tests/support/graph_builder.h"
#include "tests/support/graph_interpreter.h"
#include "tests/support/graph_text.h"

namespace normlens::analysis {

inline graph::Graph parsed(const std::string& text) {
  auto graph = graph::parseGraph(text);
  if (!graph) throw std::logic_error(graph.error().message + "\n" + text);
  return std::move(*graph);
}

struct Found {
  size_t norms = 0, folded = 0;
  Verdict verdict = Verdict::Blocked;
  std::string reason;
  int centerings = 0;
  double difference = 0;
};

inline Found found(const std::string& text, Policy policy = Policy::All) {
  const graph::Graph graph = parsed(text);
  const auto analysis = analyze(graph, Task{});
  if (!analysis) throw std::logic_error(analysis.error().message);
  Found out;
  out.norms = (*analysis)->norms.layerNorms.size();
  if (out.norms > 0) {
    out.verdict = (*analysis)->verdicts[0].verdict;
    out.reason = (*analysis)->verdicts[0].reason;
  }
  PlanOptions options;
  options.policy = policy;
  const Plan plan = makePlan(**analysis, options);
  out.folded = plan.folded.size();
  out.centerings = plan.centerings;
  std::mt19937 random(7);
  const auto inputs = testing::drawInputs(graph, random);
  const auto folded = testing::applyPlan(graph, (*analysis)->norms.layerNorms, plan);
  out.difference = testing::maxRelative(testing::interpret(graph, inputs), testing::interpret(folded, inputs));
  return out;
}

// One norm, which folds free and exactly.
inline void expectFolded(const std::string& text) {
  const Found norm = found(text, Policy::Free);
  EXPECT_EQ(norm.norms, 1U) << text;
  EXPECT_EQ(norm.verdict, Verdict::Free) << norm.reason;
  EXPECT_EQ(norm.folded, 1U);
  EXPECT_LT(norm.difference, 1e-12);
}

}  // namespace normlens::analysis
