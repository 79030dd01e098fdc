// The zero-mean transfer, the shift-tolerance rule and the size rule of each op kind, one table row each
// (op_table.cpp).
//
// Two questions about one node and one Pattern:
//  - zeroMean: which operands have to be zero-mean, over which patterns, for output `o` to be zero-mean over P?
//  - shift:    a value that is equal within each group of P (and 0 outside its region) is added to operand `i`. Does
//              the node swallow it, hand it on to its outputs as a shift with another pattern, or change its meaning?
// and one of an axis of what a node makes:
//  - size:     which runs give it the size that it has in the probe (axis_size.h)?
// All answers are sufficient conditions: "Refused" means that nothing can be promised. Sources: papers 000/001
// (zero-mean graph, affected layers); docs/method.md 2, 4 and 5 make them exact.
//
// Thread: rules are pure functions of an immutable graph. Shapes are those of the probe run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/words/graph.h"
#include "core/graph/graph.h"
#include "core/ops/axis_size.h"
#include "core/ops/pattern.h"

namespace normlens::ops {

// `value` has to be zero-mean over `pattern` (zeroMean), or is shifted with `pattern` (shift).
struct Demand {
  graph::ValueId value = graph::kNoValue;
  Pattern pattern;

  bool operator==(const Demand&) const = default;
};

struct ZeroMean {
  enum class Verdict : uint8_t { Proven, Needs, Refused };
  Verdict verdict = Verdict::Refused;
  std::vector<Demand> needs;  // all of them
  // Joint leaves: constants that are centered with one common mean (linears of one input, concatenated).
  std::vector<std::vector<Demand>> jointly;
  std::string reason;  // why Refused: a clause that follows "because"

  static ZeroMean proven() { return {Verdict::Proven, {}, {}, {}}; }
  static ZeroMean of(std::vector<Demand> needs) { return {Verdict::Needs, std::move(needs), {}, {}}; }
  static ZeroMean refused(std::string reason) { return {Verdict::Refused, {}, {}, std::move(reason)}; }
};

struct Shift {
  enum class Verdict : uint8_t { Absorbed, Carried, Refused };
  Verdict verdict = Verdict::Refused;
  std::vector<Demand> outputs;
  std::string reason;

  static Shift absorbed() { return {Verdict::Absorbed, {}, {}}; }
  static Shift carried(std::vector<Demand> outputs) { return {Verdict::Carried, std::move(outputs), {}}; }
  static Shift refused(std::string reason) { return {Verdict::Refused, {}, std::move(reason)}; }
};

class SizeQuestion;

// A rule of an output (ZeroMean) or of an operand (Shift). Most look at the graph alone; a rule of nodes that read
// hundreds of values takes the sizes that an analysis has found so far.
template <class Answer>
class Rule {
 public:
  using OfGraph = Answer(const graph::Graph&, const graph::Node&, int, const Pattern&);
  using OfSizes = Answer(SizeQuestion&, const graph::Node&, int, const Pattern&);
  // NOLINTNEXTLINE(google-explicit-constructor): a row of the table names the function
  constexpr Rule(OfGraph* rule) : ofGraph_(rule) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Rule(OfSizes* rule) : ofSizes_(rule) {}

  Answer operator()(SizeQuestion& sizes, const graph::Node& node, int at, const Pattern& pattern) const;
  // Finds the sizes anew.
  Answer operator()(const graph::Graph& graph, const graph::Node& node, int at, const Pattern& pattern) const;

 private:
  OfGraph* ofGraph_ = nullptr;
  OfSizes* ofSizes_ = nullptr;
};

// own: the answer where nothing is known, the axis of a shape that the probe saw. Operand 0 has a shape, too.
using SizeRule = AxisSize(SizeQuestion&, const graph::Node&, const AxisSize& own);

struct OpRow {
  graph::OpKind kind;
  NodeClass vertexClass;
  Rule<ZeroMean> zeroMean;
  Rule<Shift> shift;
  SizeRule* size;
  std::string_view proof;  // one line: why the first two rules are right
};

[[nodiscard]] const OpRow& opRow(graph::OpKind kind);

// Returns whether a Reduce is a mean or a sum: others, a maximum for one, are not linear.
[[nodiscard]] bool isLinearReduce(const graph::Node& node);

// States why a LayerNorm's output is refused where equal numbers in its gamma would do.
inline constexpr const char* kUnequalGamma = "its \xCE\xB3 differs between channels";

// The value is equal within each group of the pattern, for every model input.
[[nodiscard]] bool isConstantAlong(const graph::Graph& graph, graph::ValueId value, const Pattern& pattern);

// Makes a tensor of zeros, whatever its shape.
[[nodiscard]] bool makesZeros(const graph::Node& node);

// a + b or a - b: without a factor alpha in front of b.
[[nodiscard]] bool plainAlpha(const graph::Node& node);
// c + alpha * (a @ b): without a factor beta in front of c.
[[nodiscard]] bool plainBeta(const graph::Node& node);

// y = x - mean(x, axes, keepdim): the operand index of x in `node` and the pattern of the mean.
struct ExplicitCentering {
  graph::ValueId input = graph::kNoValue;
  Pattern pattern;
};
[[nodiscard]] std::optional<ExplicitCentering> explicitCentering(const graph::Graph& graph, const graph::Node& node);

}  // namespace normlens::ops
