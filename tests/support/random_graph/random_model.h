// The model that randomModel() makes, and its steps: each makes a new stream [batch, tokens, width]. They are in the
// files random_*.cpp, by what they make.
#pragma once

#include <string>
#include <vector>

#include "tests/support/graph_builder.h"
#include "tests/support/random_graph/random_graph.h"

namespace normlens::testing {

class RandomModel {
 public:
  RandomModel(unsigned seed, const ModelSize& size)
      : g_(seed), batch_(size.batch), tokens_(size.tokens), ones_(size.ones), x_{batch_, tokens_, kWidth} {}

  graph::Graph build(int steps);

 private:
  using ValueId = graph::ValueId;
  using Shape = graph::Shape;
  using Ints = std::vector<int64_t>;
  using Step = ValueId (RandomModel::*)();

  static constexpr int64_t kWidth = 8;
  static constexpr int64_t kHeads = 2;
  static constexpr int64_t kPositions = 7;
  static constexpr int64_t kRows = 5;

  // What steps are made of, and which step comes next: random_graph.cpp.
  ValueId sized(const Shape& shape, const Shape& declared);
  ValueId pick();
  [[nodiscard]] int64_t count() const { return static_cast<int64_t>(streams_.size()); }
  ValueId tied(const Shape& shape);
  ValueId equal(const Shape& shape) { return g_.constant(Tensor(shape, 0.5 + static_cast<double>(g_.below(3)))); }
  ValueId maybe(ValueId value) { return g_.chance(60) ? value : graph::kNoValue; }
  [[nodiscard]] static Shape with(Shape shape, size_t axis, int64_t size) {
    shape.at(axis) = size;
    return shape;
  }
  ValueId start();
  ValueId embedding();
  ValueId linear(ValueId x);
  ValueId gamma(const Shape& shape);
  ValueId beta(const Shape& shape);
  ValueId norm(ValueId x, int64_t axes);
  ValueId layerNorm(ValueId x) { return g_.chance(25) ? writtenOutNorm(x) : norm(x, 1); }
  ValueId meanOf(ValueId x, const std::string& op = "mean", size_t axis = 2);
  ValueId writtenOutNorm(ValueId x);
  ValueId anyStep();
  void finish();

  // random_channels.cpp
  ValueId residualBlock();
  ValueId sumOfTwo();
  ValueId plainLinear() { return linear(pick()); }
  ValueId normalized() { return layerNorm(pick()); }
  ValueId activation() { return g_.add(graph::OpKind::Elementwise, {pick()}, x_, {}, "aten::gelu"); }
  ValueId table() { return embedding(); }
  ValueId opaque() { return g_.add(graph::OpKind::Opaque, {pick()}, x_, {}, "aten::sort"); }
  ValueId gate(ValueId from);
  ValueId gated();
  ValueId scaled() { return g_.add(graph::OpKind::Div, {pick(), g_.number(2)}, x_); }
  ValueId layerScale();
  ValueId constantRows();
  ValueId sameForAllChannels();
  ValueId perToken();
  ValueId droppedAddend();
  ValueId halves();
  ValueId partOfChannels();
  ValueId positive(const Shape& shape);
  ValueId centered();
  ValueId leakedMean();
  ValueId cast();

  // random_heads.cpp
  ValueId perHeadNorm();
  ValueId scaledSum();
  ValueId fusedSplit();
  ValueId attend(ValueId q, ValueId k, ValueId v);
  ValueId sharedHeads();
  ValueId mixedHeads();
  ValueId attention();
  ValueId stacked();
  ValueId selfProduct();

  // random_tokens.cpp
  ValueId positions();
  ValueId clsToken();
  ValueId tokenMixing();
  ValueId tokenMean();
  ValueId shuffled() { return shuffle(pick()); }
  ValueId shuffle(ValueId x);
  ValueId convolved();
  ValueId batchNormed();
  ValueId normOverTokens();
  ValueId perTokenNorms();
  ValueId groupNorm();

  // random_blocks.cpp
  ValueId masked();
  ValueId maskedBy(ValueId mask);
  ValueId branch();
  ValueId loop();
  ValueId innerStep();
  void leave(graph::BlockId before, size_t streams);

  GraphBuilder g_;
  int64_t batch_;
  int64_t tokens_;
  int64_t ones_;
  Shape x_;
  ValueId image_ = graph::kNoValue;
  ValueId ids_ = graph::kNoValue;
  ValueId flag_ = graph::kNoValue;
  ValueId trips_ = graph::kNoValue;
  std::vector<ValueId> gates_;
  ValueId table_ = graph::kNoValue;
  std::vector<ValueId> streams_;
  std::vector<ValueId> norms_;  // outputs of norms that nothing else reads
  std::vector<ValueId> constants_;
};

}  // namespace normlens::testing
