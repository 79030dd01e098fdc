#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

#include "tests/support/reference_ops.h"

namespace normlens::testing {

using graph::OpKind;
using graph::Shape;

namespace {

Tensor linear(const Call& call) {
  const Tensor& x = call.operand(0);
  const Tensor& w = call.operand(1);
  Shape shape(x.shape.begin(), x.shape.end() - 1);
  if (w.shape.size() == 2) shape.push_back(w.shape[0]);
  Tensor out(shape);
  forEachIndex(shape, [&](const Index& index) {
    Index from = index;
    if (w.shape.size() == 1) from.push_back(0);
    double sum = call.has(2) ? call.operand(2)(index) : 0;
    for (int64_t i = 0; i < x.shape.back(); ++i) {
      from.back() = i;
      sum += x(from) * (w.shape.size() == 2 ? w({index.back(), i}) : w({i}));
    }
    out[index] = sum;
  });
  return out;
}

// numpy's matmul.
Tensor matmul(Tensor a, Tensor b) {
  const bool vectorA = a.shape.size() == 1;
  const bool vectorB = b.shape.size() == 1;
  if (vectorA) a.shape.insert(a.shape.begin(), 1);
  if (vectorB) b.shape.push_back(1);
  const Shape batchA(a.shape.begin(), a.shape.end() - 2);
  const Shape batchB(b.shape.begin(), b.shape.end() - 2);
  Shape shape = broadcastShape(batchA, batchB);
  const int64_t rows = a.shape[a.shape.size() - 2];
  const int64_t inner = a.shape.back();
  const int64_t columns = b.shape.back();
  shape.push_back(rows);
  shape.push_back(columns);
  Tensor out(shape);
  forEachIndex(shape, [&](const Index& index) {
    Index ia = index;
    Index ib = index;
    double sum = 0;
    for (int64_t i = 0; i < inner; ++i) {
      ia.back() = i;
      ib[ib.size() - 2] = i;
      sum += a(ia) * b(ib);
    }
    out[index] = sum;
  });
  if (vectorB) out.shape.pop_back();
  if (vectorA) out.shape.erase(out.shape.end() - (vectorB ? 1 : 2));
  return out;
}

Tensor addMatmul(const Call& call) {
  const double alpha = graph::floatAttribute(call.node, "alpha").value_or(1.0);
  const double beta = graph::floatAttribute(call.node, "beta").value_or(1.0);
  Tensor out = matmul(call.operand(1), call.operand(2));
  forEachIndex(out.shape, [&](const Index& index) { out[index] = beta * call.operand(0)(index) + alpha * out(index); });
  return out;
}

// Sums over every letter that the result does not have.
Tensor einsum(const Call& call) {
  const std::string text = graph::stringAttribute(call.node, "equation").value();
  const size_t arrow = text.find("->");
  std::vector<std::string> words{""};
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  const std::string result = text.substr(arrow + 2);
  std::string letters = result;
  std::map<char, int64_t> sizes;
  for (size_t w = 0; w < words.size(); ++w) {
    for (size_t i = 0; i < words[w].size(); ++i) {
      sizes[words[w][i]] = call.operand(w).shape.at(i);
      if (letters.find(words[w][i]) == std::string::npos) letters += words[w][i];
    }
  }
  Shape all;
  for (const char c : letters) all.push_back(sizes[c]);
  const auto at = [&](const std::string& word, const Index& index) {
    Index out;
    for (const char c : word) out.push_back(index[letters.find(c)]);
    return out;
  };
  Tensor out(Shape(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(result.size())));
  forEachIndex(all, [&](const Index& index) {
    double product = 1;
    for (size_t w = 0; w < words.size(); ++w) product *= call.operand(w)(at(words[w], index));
    out[at(result, index)] += product;
  });
  return out;
}

// Stride 1, padding kernel / 2. The transposed one is the adjoint map of the plain one.
Tensor convolution(const Call& call) {
  const Tensor& x = call.operand(0);
  const Tensor& w = call.operand(1);
  const int64_t groups = graph::intAttribute(call.node, "groups").value_or(1);
  const bool transposed = graph::boolAttribute(call.node, "transposed");
  const Shape& shape = call.outShape();
  const int64_t in = x.shape[1] / groups;
  const int64_t each = shape[1] / groups;
  const Shape kernel(w.shape.begin() + 2, w.shape.end());
  Tensor out(shape);
  forEachIndex(shape, [&](const Index& index) {
    const int64_t group = index[1] / each;
    double sum = call.has(2) ? call.operand(2)({index[1]}) : 0;
    forEachIndex(kernel, [&](const Index& k) {
      Index from = index;
      for (size_t i = 0; i < k.size(); ++i) {
        const int64_t step = k[i] - kernel[i] / 2;
        from[i + 2] += transposed ? -step : step;
        if (from[i + 2] < 0 || from[i + 2] >= x.shape[i + 2]) return;
      }
      for (int64_t c = 0; c < in; ++c) {
        from[1] = group * in + c;
        Index weight = transposed ? Index{from[1], index[1] % each} : Index{index[1], c};
        weight.insert(weight.end(), k.begin(), k.end());
        sum += w(weight) * x(from);
      }
    });
    out[index] = sum;
  });
  return out;
}

// Scaled dot product; k and v may have fewer heads than q (axis 1), each then serves neighbouring ones.
Tensor heads(const Call& call, bool masked) {
  const Tensor& q = call.operand(0);
  const Tensor& k = call.operand(1);
  const Tensor& v = call.operand(2);
  const size_t rank = q.shape.size();
  Shape shape(q.shape.begin(), q.shape.end() - 1);
  shape.push_back(v.shape.back());
  const int64_t shared = rank == 4 ? q.shape[1] / k.shape[1] : 1;
  const int64_t keys = k.shape[rank - 2];
  Tensor out(shape);
  forEachIndex(shape, [&](const Index& index) {
    Index iq = index;
    Index ik = index;
    if (rank == 4) ik[1] /= shared;
    std::vector<double> scores;
    for (int64_t s = 0; s < keys; ++s) {
      double score = 0;
      ik[rank - 2] = s;
      for (int64_t d = 0; d < q.shape.back(); ++d) {
        iq[rank - 1] = ik[rank - 1] = d;
        score += q(iq) * k(ik);
      }
      score /= std::sqrt(static_cast<double>(q.shape.back()));
      Index im = index;
      im[rank - 1] = s;
      scores.push_back(score + (masked ? call.operand(3)(im) : 0));
    }
    const double top = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    double sum = 0;
    ik[rank - 1] = index[rank - 1];
    for (int64_t s = 0; s < keys; ++s) {
      ik[rank - 2] = s;
      const double weight = std::exp(scores[static_cast<size_t>(s)] - top);
      total += weight;
      sum += weight * v(ik);
    }
    out[index] = sum / total;
  });
  return out;
}

// With a projection: heads W^T + b.
Tensor attention(const Call& call) {
  const auto projection = graph::intAttribute(call.node, "projection");
  if (!projection) return heads(call, call.has(3));
  const auto at = static_cast<size_t>(*projection);
  const Tensor mixed = heads(call, false);
  const Tensor& w = call.operand(at);
  Tensor out(call.outShape());
  forEachIndex(out.shape, [&](const Index& index) {
    Index from = index;
    double sum = call.has(at + 1) ? call.operand(at + 1)({index.back()}) : 0;
    for (int64_t e = 0; e < w.shape.at(1); ++e) {
      from.back() = e;
      sum += w({index.back(), e}) * mixed(from);
    }
    out[index] = sum;
  });
  return out;
}

Tensor reduced(const Call& call) {
  const Tensor& x = call.operand(0);
  const std::string op = graph::stringAttribute(call.node, "op").value();
  Shape kept = x.shape;
  for (const int64_t axis : call.axes()) kept[static_cast<size_t>(axis)] = 1;
  Tensor sums(kept);
  Tensor squares(kept);
  Tensor plainSquares(kept);
  Tensor top(kept, -1e300);
  const double count = static_cast<double>(x.at.size()) / static_cast<double>(sums.at.size());
  const auto down = [&](Index index) {
    for (const int64_t axis : call.axes()) index[static_cast<size_t>(axis)] = 0;
    return index;
  };
  forEachIndex(x.shape, [&](const Index& index) {
    const Index to = down(index);
    sums[to] += x(index);
    top[to] = std::max(top(to), x(index));
  });
  forEachIndex(x.shape, [&](const Index& index) {
    const double away = x(index) - sums(down(index)) / count;
    squares[down(index)] += away * away;
    plainSquares[down(index)] += x(index) * x(index);
  });
  const double free = graph::boolAttribute(call.node, "unbiased", true) ? count - 1 : count;
  Tensor out(kept);
  for (size_t i = 0; i < out.at.size(); ++i) {
    if (op == "sum") {
      out.at[i] = sums.at[i];
    } else if (op == "mean") {
      out.at[i] = sums.at[i] / count;
    } else if (op == "mean_square") {
      out.at[i] = plainSquares.at[i] / count;
    } else if (op == "var" || op == "std") {
      out.at[i] = op == "var" ? squares.at[i] / free : std::sqrt(squares.at[i] / free);
    } else {
      out.at[i] = top.at[i];
    }
  }
  out.shape = call.outShape();
  return out;
}

Tensor mixed(const Call& call) {
  Tensor x = call.operand(0);
  for (const int64_t number : call.axes()) {
    const auto axis = static_cast<size_t>(number);
    Shape shape = x.shape;
    shape[axis] = call.outShape().at(axis);
    Tensor out(shape);
    forEachIndex(shape, [&](const Index& index) {
      Index from = index;
      double sum = 0;
      for (int64_t i = 0; i < x.shape[axis]; ++i) {
        from[axis] = i;
        sum += (0.2 + std::cos(static_cast<double>(5 * index[axis] + 3 * i))) * x(from);
      }
      out[index] = sum;
    });
    x = out;
  }
  return x;
}

}  // namespace

std::vector<Tensor> linearOp(const Call& call) {
  switch (call.node.kind) {
    case OpKind::Linear:
      return {linear(call)};
    case OpKind::MatMul:
      return {matmul(call.operand(0), call.operand(1))};
    case OpKind::AddMatMul:
      return {addMatmul(call)};
    case OpKind::Einsum:
      return {einsum(call)};
    case OpKind::Conv:
      return {convolution(call)};
    case OpKind::Attention:
      return {attention(call)};
    case OpKind::Reduce:
      return {reduced(call)};
    case OpKind::Mix:
      return {mixed(call)};
    default:
      throw std::logic_error("no linear op");
  }
}

}  // namespace normlens::testing
