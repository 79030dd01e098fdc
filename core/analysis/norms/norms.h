// Finds the norms of a graph: single ops and those written out as mean, subtraction, square, mean, division.
#pragma once

#include <string>
#include <vector>

#include "core/base/words/graph.h"
#include "core/base/words/words.h"
#include "core/graph/graph.h"
#include "core/ops/pattern.h"

namespace normlens::analysis {

using normlens::NormForm;

// Holds what all norms have in common: y = gamma * norm(x) + beta over the axes `axes` of x, with eps.
struct NormParts {
  NormForm form = NormForm::Op;
  graph::NodeId node = graph::kNone;   // the op; of a decomposed norm the one that ends it
  std::vector<graph::NodeId> members;  // all nodes of it, in execution order
  graph::ValueId input = graph::kNoValue;
  graph::ValueId output = graph::kNoValue;
  graph::ValueId gamma = graph::kNoValue;
  graph::ValueId beta = graph::kNoValue;
  std::vector<int64_t> axes;  // empty when the shape is not known
  int64_t groups = 1;         // of a GroupNorm: equal parts of the first of the axes, each with a mean of its own
  double eps = 0;
};

// The groups of elements that have a mean each. axes: not empty.
[[nodiscard]] ops::Pattern patternOf(const graph::Shape& shape, const NormParts& norm);
// A tensor that such a norm reads or makes, with axis 1 cut into its groups and the channels of each; as it is where
// there is one group.
[[nodiscard]] graph::TensorView byGroups(graph::TensorView view, int64_t groups);
// The norm's axes in that view.
[[nodiscard]] std::vector<int64_t> axesByGroups(const NormParts& norm);

// y = gamma * (x - mean(x)) / sqrt(var(x) + eps) + beta over the axes `axes` of x: the last ones, or where it is
// decomposed the channels of an image [batch, channels, height, width].
//
// A decomposed norm:      x --> Reduce mean --> Sub(x, mean) = c --> square --> Reduce mean --> Add eps --> sqrt --+
//                                                       \-------------------------------------------> Div / Mul <--+
// with x - mean computed once or twice, square as Mul(c, c) or pow 2, sqrt + Div or rsqrt + Mul. Gamma and beta are not
// part of it: they stay in the graph as they are, the norm's own output is c / sqrt(...). Or as Flax writes it, with
// mean(x^2) - mean(x)^2 for the variance, means as sums times 1/n, and gamma inside:
//                        c * (gamma * rsqrt(max(0, mean(x^2) - mean(x)^2) + eps))
// Or as Keras does, multiplied out: x * k + (beta - mean * k), k = gamma * rsqrt(...).
// Or with everything behind c in one op, RmsNorm(c, gamma), which stays when the norm is folded.
// Or in any other way that computes the same (written_norms.h), perhaps of a view of x.
//
// A GroupNorm whose positions are one in every run (x is [batch, channels], or has axes of size 1 behind) is a
// LayerNorm of each group of channels: papers 000 A.4 and 001 C.3, eq. 28. So is an InstanceNorm over such groups, as
// exporters write a GroupNorm. Their gamma and beta have one number for each index of axis 1.
struct LayerNorm : NormParts {
  // A node that folding replaces by one of its operands.
  struct LeftOut {
    graph::NodeId node = graph::kNone;
    size_t operand = 0;
  };

  std::string name;   // unique in the file
  std::string title;  // to be read: its module's path where the file has one, which `name` need not say; unique as well
  int index = 0;      // execution order among the LayerNorms
  NormType type = NormType::LayerNorm;
  // Decomposed: mean(x^2) - mean(x)^2, of which the mean square stays, and what adds the mean's share of a norm that is
  // multiplied out. What subtracts from the input itself is replaced by the input, too.
  std::vector<LeftOut> leftOut;
  // Decomposed, and no rule of its single ops shows that it does not notice a shift of x: it is looked at as one. Its
  // output may have gamma and beta in it.
  bool asOne = false;
  // Decomposed: of any form, between input and output, which have one shape. Folding writes it anew where the format
  // can, or takes all of `leftOut` out; there is no subtraction to look for.
  bool anew = false;
  graph::ValueId innerGamma = graph::kNoValue;  // decomposed: the gamma that its output has in it
  graph::ValueId innerBeta = graph::kNoValue;   // and the beta
  std::vector<int64_t> normalizedShape;         // of one group; empty when the shape is not known
  std::string blockedReason;  // not empty: cannot be folded whatever its input (mean output is used ...)
};

// The parts of an RMSNorm are those of y = gamma * x / sqrt(mean(x^2) + eps) over the trailing axes `axes` of x.
//
// A decomposed one, with the forms of squares, means and roots that LayerNorms have, too:
//            x --> square --> Reduce mean --> Add eps --> sqrt --+
//             \------------------------------------> Div / Mul <--+--> Mul gamma
// Casts of x that round nothing, and a cast back before or behind gamma, belong to it; gamma may be inside, at the
// root, and be made of constants (1 + gamma).
struct OtherNorm : NormParts {
  std::string name;
  OtherNormKind kind = OtherNormKind::RmsNorm;
  bool exactMeans = true;  // false: a sum is multiplied by a rounded 1/n
};

// Returns whether a norm over `axes` of something with `rank` axes is over the last ones.
[[nodiscard]] bool areLastAxes(const std::vector<int64_t>& axes, size_t rank);

struct Norms {
  std::vector<LayerNorm> layerNorms;
  std::vector<OtherNorm> others;
};

[[nodiscard]] Norms findNorms(const graph::Graph& graph);
// Returns whether the sizes that a norm is taken over are the probe's in every run.
[[nodiscard]] bool isOverKnownSizes(const graph::Graph& graph, const LayerNorm& norm);

// Returns why it is not known that the members compute a norm: what they read or make is written to in between. Empty:
// it is not.
[[nodiscard]] std::string writtenInBetween(const graph::Graph& graph, const std::vector<graph::NodeId>& members,
                                           graph::ValueId input, graph::ValueId output);

// Returns the members' reads of the norm's input.
[[nodiscard]] graph::Uses readsOfInput(const graph::Graph& graph, const LayerNorm& norm);

// Nobody but the members reads what they make, except for `output` and for sizes of what `sizesOf` make.
[[nodiscard]] bool isClosed(const graph::Graph& graph, const std::vector<graph::NodeId>& members, graph::ValueId output,
                            const std::vector<graph::NodeId>& sizesOf = {});

struct NamedNorm {
  std::string name;
  graph::NodeId node = graph::kNone;
};

// The LayerNorms over last axes, then the RMSNorms, that are one op of their own.
[[nodiscard]] std::vector<NamedNorm> normsOfOneOp(const Norms& norms);

}  // namespace normlens::analysis
