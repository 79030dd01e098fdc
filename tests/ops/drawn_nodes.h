// One node of each kind, with random shapes and attributes and, where an operand's values matter, random values.
#pragma once

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/rule_property.h"

namespace normlens::ops {

class Draw {
 public:
  explicit Draw(std::mt19937& random) : random_(random) {}
  int64_t below(int64_t end) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(end)); }
  bool coin() { return below(2) == 0; }
  int64_t size() { return std::array<int64_t, 4>{2, 3, 4, 6}[static_cast<size_t>(below(4))]; }
  graph::Shape shape(size_t least, size_t most) {
    graph::Shape out(least + static_cast<size_t>(below(static_cast<int64_t>(most - least + 1))));
    for (int64_t& item : out) item = size();
    return out;
  }
  size_t axis(const graph::Shape& shape) { return static_cast<size_t>(below(static_cast<int64_t>(shape.size()))); }
  // What numpy rules broadcast to `full`.
  graph::Shape part(const graph::Shape& full) {
    graph::Shape out(full.begin() + below(static_cast<int64_t>(full.size()) + 1), full.end());
    for (int64_t& item : out) item = below(3) == 0 ? 1 : item;
    return out;
  }
  testing::Tensor tensor(const graph::Shape& shape) { return testing::randomTensor(shape, random_); }
  // A tensor whose values do not change along some axes, as a gate or mask.
  testing::Tensor flat(const graph::Shape& shape) {
    const testing::Tensor seed = tensor(part(shape));
    testing::Tensor out(shape);
    testing::forEachIndex(shape, [&](const testing::Index& index) { out[index] = seed(index); });
    return out;
  }
  testing::Operand gate(const graph::Shape& shape) {
    switch (below(4)) {
      case 0:
        return testing::Operand::number(0.7);
      case 1:
        return testing::Operand::of(flat(shape));
      case 2:
        return testing::Operand(shape);
      default:
        return testing::Operand(part(shape));
    }
  }
  testing::Operand mask(const graph::Shape& shape) {
    if (coin()) return testing::Operand(part(shape));
    testing::Tensor out = flat(shape);
    for (double& item : out.at) item = item > 0 ? 1 : 0;
    return testing::Operand::of(std::move(out));
  }
  std::vector<int64_t> perm(size_t rank) {
    std::vector<int64_t> out(rank);
    for (size_t i = 0; i < rank; ++i) out[i] = static_cast<int64_t>(i);
    std::shuffle(out.begin(), out.end(), random_);
    return out;
  }
  std::vector<int64_t> someAxes(const graph::Shape& shape) {
    std::vector<int64_t> out;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (coin()) out.push_back(static_cast<int64_t>(i));
    }
    if (out.empty()) out.push_back(below(static_cast<int64_t>(shape.size())));
    return out;
  }

 private:
  std::mt19937& random_;
};

[[nodiscard]] inline graph::Attributes axisAttribute(size_t axis) { return {{"axis", static_cast<int64_t>(axis)}}; }

[[nodiscard]] testing::OneNode unary(Draw& draw, graph::OpKind kind);
[[nodiscard]] testing::OneNode sum(Draw& draw, graph::OpKind kind);
[[nodiscard]] testing::OneNode product(Draw& draw, graph::OpKind kind);
[[nodiscard]] testing::OneNode where(Draw& draw);
[[nodiscard]] testing::OneNode maskedFill(Draw& draw);

[[nodiscard]] testing::OneNode reshape(Draw& draw);
[[nodiscard]] testing::OneNode permute(Draw& draw);
[[nodiscard]] testing::OneNode rearrange(Draw& draw);
[[nodiscard]] testing::OneNode expand(Draw& draw);
[[nodiscard]] testing::OneNode slice(Draw& draw);
[[nodiscard]] testing::OneNode select(Draw& draw);
[[nodiscard]] testing::OneNode split(Draw& draw);
[[nodiscard]] testing::OneNode unbind(Draw& draw);
[[nodiscard]] testing::OneNode concat(Draw& draw);
[[nodiscard]] testing::OneNode stack(Draw& draw);
[[nodiscard]] testing::OneNode roll(Draw& draw);
[[nodiscard]] testing::OneNode pad(Draw& draw);
[[nodiscard]] testing::OneNode gather(Draw& draw);
[[nodiscard]] testing::OneNode gatherTogether(Draw& draw);
[[nodiscard]] testing::OneNode scatterRows(Draw& draw);
[[nodiscard]] testing::OneNode scatterElements(Draw& draw);
[[nodiscard]] testing::OneNode maskedCopy(Draw& draw);

[[nodiscard]] testing::OneNode linear(Draw& draw);
[[nodiscard]] testing::OneNode matmul(Draw& draw);
[[nodiscard]] testing::OneNode addMatmul(Draw& draw);
[[nodiscard]] testing::OneNode einsum(Draw& draw);
[[nodiscard]] testing::OneNode convolution(Draw& draw);
[[nodiscard]] testing::OneNode attention(Draw& draw);
[[nodiscard]] testing::OneNode projectedAttention(Draw& draw);
[[nodiscard]] testing::OneNode zeros(Draw& draw);
[[nodiscard]] testing::OneNode lastAxesNorm(Draw& draw, graph::OpKind kind);
[[nodiscard]] testing::OneNode channelNorm(Draw& draw, graph::OpKind kind);
[[nodiscard]] testing::OneNode batchNorm(Draw& draw);
[[nodiscard]] testing::OneNode softmax(Draw& draw);
[[nodiscard]] testing::OneNode reduce(Draw& draw);
[[nodiscard]] testing::OneNode mix(Draw& draw);

}  // namespace normlens::ops
