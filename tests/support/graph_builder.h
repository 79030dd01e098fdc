// Builds graphs in code, with float64 values: for tests that make many of them.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "tests/support/dense_tensor.h"

namespace normlens::testing {

class GraphBuilder {
 public:
  explicit GraphBuilder(unsigned seed) : random_(seed) {}

  graph::ValueId input(const graph::Shape& shape, graph::DType dtype = graph::DType::Float64);
  graph::ValueId constant(const Tensor& tensor);
  graph::ValueId weight(const graph::Shape& shape);  // random, of a size that keeps activations near 1
  graph::ValueId number(double value) { return graph_.addLiteral(value); }
  graph::ValueId param(graph::BlockId block, const graph::Shape& shape, graph::DType dtype = graph::DType::Float64);

  graph::ValueId add(graph::OpKind kind, const std::vector<graph::ValueId>& operands, const graph::Shape& shape,
                     graph::Attributes attributes = {}, const std::string& op = "",
                     graph::DType dtype = graph::DType::Float64);
  graph::ValueId function(graph::Function function, const std::vector<graph::ValueId>& operands,
                          const graph::Shape& shape);  // an Elementwise
  std::vector<graph::ValueId> addMany(graph::OpKind kind, const std::vector<graph::ValueId>& operands,
                                      const std::vector<graph::Shape>& shapes, graph::Attributes attributes = {});
  // Adds to an inner block from now on; returns the block that was current.
  graph::BlockId enter(graph::BlockId block);
  graph::BlockId addBlock(graph::ValueId outputOfOwner);
  void addReturn(graph::BlockId block, graph::ValueId value) { graph_.addReturn(block, value); }

  [[nodiscard]] const graph::Shape& shape(graph::ValueId value) const { return *graph_.value(value).shape; }
  [[nodiscard]] graph::Graph& graph() { return graph_; }
  [[nodiscard]] std::mt19937& random() { return random_; }
  int64_t below(int64_t end) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(end)); }
  bool chance(int percent) { return below(100) < percent; }

 private:
  [[nodiscard]] graph::Value fresh(const graph::Shape& shape, graph::DType dtype) const;

  graph::Graph graph_;
  graph::BlockId block_ = 0;
  std::mt19937 random_;
};

// Random numbers for float inputs, 0 to 4 for integers, 0 or 1 for booleans.
[[nodiscard]] std::vector<Tensor> drawInputs(const graph::Graph& graph, std::mt19937& random);

// Largest difference over all outputs, relative to each output's largest magnitude.
[[nodiscard]] double maxRelative(const std::vector<Tensor>& before, const std::vector<Tensor>& after);

}  // namespace normlens::testing
