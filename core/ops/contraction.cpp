#include "core/ops/contraction.h"

#include <algorithm>
#include <map>

#include "core/ops/axis_size.h"
#include "core/ops/index_maps.h"

namespace normlens::ops {
namespace {

using graph::Graph;
using graph::Node;
using graph::OpKind;
using graph::Shape;

struct Shapes {
  const Shape* a = nullptr;
  const Shape* b = nullptr;
  const Shape* out = nullptr;
};

std::optional<Shapes> shapes(const Graph& graph, const Node& node, int a, int b) {
  if (node.operands.size() <= static_cast<size_t>(std::max(a, b)) || node.outputs.empty()) return std::nullopt;
  const Shapes found{shapeOf(graph, node.operands[static_cast<size_t>(a)]),
                     b < 0 ? nullptr : shapeOf(graph, node.operands[static_cast<size_t>(b)]),
                     shapeOf(graph, node.outputs[0])};
  if (found.a == nullptr || found.out == nullptr || (b >= 0 && found.b == nullptr)) return std::nullopt;
  return found;
}

// Gives out fresh label ids.
class Labels {
 public:
  Label fresh(int64_t size) { return {next_++, size}; }

 private:
  int next_ = 0;
};

std::optional<Contraction> linear(const Graph& graph, const Node& node) {
  const auto s = shapes(graph, node, 0, 1);
  if (!s || s->a->empty() || s->b->empty()) return std::nullopt;
  Labels labels;
  Contraction c{0, 1, node.operands.size() > 2 && node.operands[2] != graph::kNoValue ? 2 : -1, {}, {}, {}};
  for (size_t i = 0; i + 1 < s->a->size(); ++i) {
    c.labelsA.push_back(labels.fresh((*s->a)[i]));
    c.labelsOut.push_back(c.labelsA.back());
  }
  if (s->b->size() == 2) {
    c.labelsB.push_back(labels.fresh((*s->b)[0]));
    c.labelsOut.push_back(c.labelsB.back());
  }
  const Label in = labels.fresh(s->a->back());
  c.labelsA.push_back(in);
  c.labelsB.push_back(in);
  return c;
}

// numpy rules: 1-d operands lose their extra axis, leading axes broadcast.
std::optional<Contraction> matmul(const Graph& graph, const Node& node, int a, int b, int bias) {
  const auto s = shapes(graph, node, a, b);
  if (!s || s->a->empty() || s->b->empty()) return std::nullopt;
  Labels labels;
  Contraction c{a, b, bias, {}, {}, {}};
  const size_t batchA = s->a->size() > 2 ? s->a->size() - 2 : 0;
  const size_t batchB = s->b->size() > 2 ? s->b->size() - 2 : 0;
  const size_t batch = std::max(batchA, batchB);
  for (size_t i = 0; i < batch; ++i) {
    const int64_t sizeA = i + batchA >= batch ? (*s->a)[i + batchA - batch] : 1;
    const int64_t sizeB = i + batchB >= batch ? (*s->b)[i + batchB - batch] : 1;
    const Label label = labels.fresh(std::max(sizeA, sizeB));
    // An operand that is repeated along a batch axis does not depend on it.
    const auto repeats = [&](int operand, int64_t size) {
      return size == 1 && isBroadcastInEveryRun(graph, node.operands[static_cast<size_t>(operand)], batch - i + 2);
    };
    if (!repeats(a, sizeA)) c.labelsA.push_back({label.id, sizeA});
    if (!repeats(b, sizeB)) c.labelsB.push_back({label.id, sizeB});
    c.labelsOut.push_back(label);
  }
  if (s->a->size() >= 2) {
    c.labelsA.push_back(labels.fresh((*s->a)[s->a->size() - 2]));
    c.labelsOut.push_back(c.labelsA.back());
  }
  const Label contracted = labels.fresh(s->a->back());
  c.labelsA.push_back(contracted);
  c.labelsB.push_back(contracted);
  if (s->b->size() >= 2) {
    c.labelsB.push_back(labels.fresh(s->b->back()));
    c.labelsOut.push_back(c.labelsB.back());
  }
  return c;
}

std::optional<Contraction> convolution(const Graph& graph, const Node& node) {
  const auto s = shapes(graph, node, 0, 1);
  if (!s || s->b->size() < 3 || s->a->size() + 1 < s->b->size()) return std::nullopt;
  const int64_t groups = graph::intAttribute(node, "groups").value_or(1);
  const bool transposed = graph::boolAttribute(node, "transposed");
  const size_t spatial = s->b->size() - 2;
  const bool batched = s->a->size() == s->b->size();
  const size_t channel = batched ? 1 : 0;
  if (groups < 1 || (*s->a)[channel] % groups != 0 || (*s->out)[channel] % groups != 0) return std::nullopt;
  Labels labels;
  Contraction c{0, 1, node.operands.size() > 2 && node.operands[2] != graph::kNoValue ? 2 : -1, {}, {}, {}};
  const Label group = labels.fresh(groups);
  const Label in = labels.fresh((*s->a)[channel] / groups);
  const Label out = labels.fresh((*s->out)[channel] / groups);
  if (batched) {
    c.labelsA.push_back(labels.fresh(s->a->front()));
    c.labelsOut.push_back(c.labelsA.back());
  }
  c.labelsA.insert(c.labelsA.end(), {group, in});
  c.labelsOut.insert(c.labelsOut.end(), {group, out});
  // W is [O, C/groups, k...], transposed [C, O/groups, k...].
  c.labelsB = transposed ? std::vector<Label>{group, in, out} : std::vector<Label>{group, out, in};
  for (size_t i = 0; i < spatial; ++i) {
    // Positions of x and of y are related through the kernel: to the labels they are three different things.
    c.labelsA.push_back(labels.fresh((*s->a)[channel + 1 + i]));
    c.labelsB.push_back(labels.fresh((*s->b)[2 + i]));
    c.labelsOut.push_back(labels.fresh((*s->out)[channel + 1 + i]));
  }
  return c;
}

std::optional<Contraction> einsum(const Graph& graph, const Node& node) {
  const auto equation = graph::stringAttribute(node, "equation");
  const int count = static_cast<int>(node.operands.size());
  if (!equation || count < 1 || count > 2) return std::nullopt;
  const auto s = shapes(graph, node, 0, count == 2 ? 1 : -1);
  if (!s) return std::nullopt;
  std::string text;
  std::copy_if(equation->begin(), equation->end(), std::back_inserter(text), [](char ch) { return ch != ' '; });
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos || text.find('.') != std::string::npos) return std::nullopt;
  const std::string inputs = text.substr(0, arrow);
  const size_t comma = inputs.find(',');
  if ((comma != std::string::npos) != (count == 2)) return std::nullopt;
  std::map<char, Label> byLetter;
  Labels labels;
  const auto letters = [&](const std::string& word, const Shape& shape) -> std::optional<std::vector<Label>> {
    if (word.size() != shape.size()) return std::nullopt;
    std::vector<Label> out;
    for (size_t i = 0; i < word.size(); ++i) {
      if (word.find(word[i]) != i) return std::nullopt;  // a diagonal
      const auto found = byLetter.find(word[i]);
      const Label label = found == byLetter.end() ? labels.fresh(shape[i]) : found->second;
      if (label.size != shape[i]) return std::nullopt;
      byLetter.emplace(word[i], label);
      out.push_back(label);
    }
    return out;
  };
  const auto a = letters(inputs.substr(0, comma), *s->a);
  const auto b = count == 2 ? letters(inputs.substr(comma + 1), *s->b) : std::optional(std::vector<Label>{});
  const auto out = letters(text.substr(arrow + 2), *s->out);
  if (!a || !b || !out) return std::nullopt;
  return Contraction{0, count == 2 ? 1 : -1, -1, *a, *b, *out};
}

// y[..., t, d] = sum over e of W[d, e] h[..., t, e] + b[d], where h is no operand: the heads of attention.
std::optional<Contraction> projectedAttention(const Graph& graph, const Node& node, int projection) {
  const auto s = shapes(graph, node, projection, -1);
  if (!s || s->a->size() != 2 || s->out->empty() || s->out->back() != s->a->front()) return std::nullopt;
  const bool biased = operandAt(node, static_cast<size_t>(projection) + 1) != graph::kNoValue;
  Labels labels;
  Contraction c{projection, -1, biased ? projection + 1 : -1, {}, {}, {}};
  const Label own = labels.fresh(s->a->front());
  c.labelsA = {own, labels.fresh(s->a->back())};
  for (size_t i = 0; i + 1 < s->out->size(); ++i) c.labelsOut.push_back(labels.fresh((*s->out)[i]));
  c.labelsOut.push_back(own);
  return c;
}

// y[..., t, d] = sum over s of p[..., t, s] v[..., s, d]: v's last axis is its own; everything else is shared or
// summed.
std::optional<Contraction> attention(const Graph& graph, const Node& node) {
  if (const auto projection = graph::intAttribute(node, "projection")) {
    return projectedAttention(graph, node, static_cast<int>(*projection));
  }
  if (node.operands.size() < 3 || node.outputs.empty()) return std::nullopt;
  const Shape* v = shapeOf(graph, node.operands[2]);
  const Shape* out = shapeOf(graph, node.outputs[0]);
  if (v == nullptr || out == nullptr || v->empty() || out->empty() || v->back() != out->back()) return std::nullopt;
  Labels labels;
  Contraction c{2, -1, -1, {}, {}, {}};
  const Label own = labels.fresh(v->back());
  // All leading axes: unrelated labels, which is the careful reading (heads of v may be shared, probabilities differ).
  for (size_t i = 0; i + 1 < v->size(); ++i) c.labelsA.push_back(labels.fresh((*v)[i]));
  for (size_t i = 0; i + 1 < out->size(); ++i) c.labelsOut.push_back(labels.fresh((*out)[i]));
  c.labelsA.push_back(own);
  c.labelsOut.push_back(own);
  return c;
}

// y's pattern as `mine` has to satisfy it: its own labels keep their sums, shared ones keep their region.
std::optional<Pattern> operandPattern(const Contraction& c, const FactorsPerDim& out, const std::vector<Label>& mine,
                                      const std::vector<Label>& other) {
  FactorsPerDim dims;
  for (const Label& label : mine) {
    const auto at =
        std::find_if(c.labelsOut.begin(), c.labelsOut.end(), [&](const Label& l) { return l.id == label.id; });
    if (at == c.labelsOut.end()) {
      dims.push_back(wholeKept(label.size));
      continue;
    }
    const auto& factors = out[static_cast<size_t>(at - c.labelsOut.begin())];
    const bool oneByChance = label.size != at->size;
    dims.push_back(oneByChance ? wholeKept(1) : has(other, label.id) ? asKept(factors) : factors);
  }
  Pattern pattern = joinDims(dims);
  return pattern.sumsAnything() ? std::optional(std::move(pattern)) : std::nullopt;
}

// A convolution's bias is per channel, in front of the spatial axes.
std::optional<Shape> channelsAndPositions(const Graph& graph, const Node& node, const Contraction& c) {
  const Shape* shape = shapeOf(graph, node.operands[static_cast<size_t>(c.bias)]);
  if (shape == nullptr) return std::nullopt;
  Shape out = *shape;
  out.resize(out.size() + shapeOf(graph, node.operands[1])->size() - 2, 1);
  return out;
}

std::optional<Pattern> narrowedToBias(const Graph& graph, const Node& node, const Contraction& c,
                                      const Pattern& pattern) {
  const Shape& full = *shapeOf(graph, node.outputs[0]);
  if (node.kind != OpKind::Conv)
    return narrowedInEveryRun(graph, node.operands[static_cast<size_t>(c.bias)], pattern, full);
  const auto part = channelsAndPositions(graph, node, c);
  return part ? narrowToOperand(pattern, full, *part) : std::nullopt;
}

std::optional<Pattern> widenedFromBias(const Graph& graph, const Node& node, const Contraction& c,
                                       const Pattern& pattern) {
  const Shape& full = *shapeOf(graph, node.outputs[0]);
  if (node.kind != OpKind::Conv)
    return widenedInEveryRun(graph, node.operands[static_cast<size_t>(c.bias)], pattern, full);
  const auto part = channelsAndPositions(graph, node, c);
  return part ? widenFromOperand(pattern, *part, full) : std::nullopt;
}

}  // namespace

bool has(const std::vector<Label>& labels, int id) {
  return std::any_of(labels.begin(), labels.end(), [id](const Label& l) { return l.id == id; });
}

std::vector<int64_t> sizesOf(const std::vector<Label>& labels) {
  std::vector<int64_t> out;
  out.reserve(labels.size());
  for (const Label& label : labels) out.push_back(label.size);
  return out;
}

std::optional<Contraction> contractionOf(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case OpKind::Linear:
      return linear(graph, node);
    case OpKind::MatMul:
      return matmul(graph, node, 0, 1, -1);
    case OpKind::AddMatMul:
      return matmul(graph, node, 1, 2, 0);
    case OpKind::Conv:
      return convolution(graph, node);
    case OpKind::Einsum:
      return einsum(graph, node);
    case OpKind::Attention:
      return attention(graph, node);
    default:
      return std::nullopt;
  }
}

ZeroMean contractionZeroMean(const Graph& graph, const Node& node, int output, const Pattern& pattern) {
  if (output != 0) return ZeroMean::refused("nothing is known of its output's mean");  // an attention's probabilities
  const auto c = contractionOf(graph, node);
  if (!c) return ZeroMean::refused("its form or shapes are not understood");
  const auto out = alignTo(pattern, sizesOf(c->labelsOut));
  if (!out) return ZeroMean::refused("the norm's channels do not line up with its output");
  // The weight first: an edit there is free.
  auto which = c->b;
  auto needed = c->b < 0 ? std::nullopt : operandPattern(*c, *out, c->labelsB, c->labelsA);
  if (!needed) {
    which = c->a;
    needed = operandPattern(*c, *out, c->labelsA, c->labelsB);
  }
  if (!needed) return ZeroMean::refused("its output mixes the norm's channels in a way that no centering undoes");
  std::vector<Demand> needs{{node.operands[static_cast<size_t>(which)], *needed}};
  if (c->bias >= 0) {
    const auto narrowed = narrowedToBias(graph, node, *c, pattern);
    if (!narrowed) return ZeroMean::refused("its bias has an unexpected shape");
    needs.push_back({node.operands[static_cast<size_t>(c->bias)], *narrowed});
  }
  return ZeroMean::of(std::move(needs));
}

Shift contractionShift(const Graph& graph, const Node& node, int operand, const Pattern& pattern) {
  const auto c = contractionOf(graph, node);
  if (!c) return Shift::refused("its form or shapes are not understood");
  if (operand == c->bias) {
    const auto widened = widenedFromBias(graph, node, *c, pattern);
    if (!widened) return Shift::refused("its bias has an unexpected shape");
    return Shift::carried({{node.outputs[0], *widened}});
  }
  const bool first = operand == c->a;
  if (!first && operand != c->b) return Shift::refused("it reads the shifted values");
  const auto& mine = first ? c->labelsA : c->labelsB;
  const auto& other = first ? c->labelsB : c->labelsA;
  const auto dims = alignTo(pattern, sizesOf(mine));
  if (!dims) return Shift::refused("the shift does not line up with its operand");
  FactorsPerDim out;
  for (const Label& label : c->labelsOut) {
    const auto at = std::find_if(mine.begin(), mine.end(), [&](const Label& l) { return l.id == label.id; });
    if (at == mine.end() || at->size != label.size) {
      out.push_back(wholeKept(label.size));
    } else {
      const auto& factors = (*dims)[static_cast<size_t>(at - mine.begin())];
      out.push_back(has(other, label.id) ? asKept(factors) : factors);
    }
  }
  Pattern result = joinDims(out);
  if (!result.sumsAnything()) return Shift::refused("it reads the shifted channels");
  return Shift::carried({{node.outputs[0], std::move(result)}});
}

}  // namespace normlens::ops
