// FoldPlan: the ordered list of small edits that turns a model into its folded twin.
//
// Each edit keeps every output by itself, in this order, as long as the ones before it are made; the last kind
// (ReplaceNorm) is right because the edits before it made the norm's input zero-mean. The opened model is never
// changed: apply(plan) of its format makes a new one. Thread: value types.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/words/words.h"
#include "core/fold/stream_edits.h"
#include "core/graph/graph.h"
#include "core/ops/pattern.h"

namespace normlens::fold {

// W' = (I - 11^T/m) W and b' = b - mean(b), for any constant: subtract from each element of a group the group's mean,
// taken in float64. A pattern that sums nothing makes every element its own group: the region becomes 0 (an addend
// that is constant along the norm's axes is dropped). Source: papers 000/001, CCWT; docs/method.md 3.1 to 3.3.
struct CenterConstant {
  struct Part {
    graph::ConstantId constant = graph::kNone;
    ops::Pattern pattern;  // over the constant's own row-major elements
  };
  // One part; several where linears of one input are concatenated along the norm's axes: then the k-th groups of all
  // parts form one group and the joint mean is subtracted.
  std::vector<Part> parts;
  // These reads get the centered tensor: all reads of the constant, unless `split`.
  graph::Uses uses;
  bool split = false;  // other reads keep the original: the file grows by a copy
};

// y = scale * linear(x): the constant per-channel scale moves into the weight (and bias) that only the scale reads.
// The scale's node then passes its other operand through. A BatchNorm behind a linear without a bias stays, with
// tensors that make it y = x + beta. docs/method.md 3.4.
struct AbsorbScale {
  graph::NodeId scaleNode = graph::kNone;  // Mul, Div or BatchNorm
  int dataOperand = 0;                     // which operand of scaleNode is passed through
  bool nodeStays = false;                  // it only shifts from now on
  struct Part {
    graph::ConstantId constant = graph::kNone;
    std::vector<double> factor;  // multiplies along `dim`
    std::vector<double> addend;  // added after the factor; empty: nothing
    int dim = 0;                 // axis of the constant that is the channel
  };
  std::vector<Part> parts;
};

// x - mean over each group of `pattern`, inserted at run time for these uses of the value. docs/method.md 3.5.
struct InsertCentering {
  graph::ValueId value = graph::kNoValue;
  ops::Pattern pattern;
  graph::Uses uses;
};

// These reads of the value see 0 in its place. It is an addend or a fill that is constant along the norm's axes,
// computed at run time or a number of the code: what it adds to a group is the group's mean, which goes away.
// docs/method.md 3.2.
struct DropAddend {
  graph::ValueId value = graph::kNoValue;
  graph::Uses uses;
};

// y = n + beta goes into linear layers only: b' = b + W beta, and beta is left out. Everything behind the biases stays
// what it was, so it may come after any of the edits above; the weights are those that the linears have by then.
// Source: docs/method.md 8.2.
struct AbsorbShift {
  int norm = 0;                            // It owns the beta; the plan replaces this norm as well.
  graph::NodeId shiftNode = graph::kNone;  // the LayerNorm, or the Add behind a decomposed one
  int shiftOperand = 0;                    // where it reads beta
  struct Part {
    graph::ConstantId weight = graph::kNone;  // two axes
    graph::Use weightUse;                     // the read of it that leads to this linear
    int inputDim = 0;                         // axis of the weight that is summed with beta
    graph::ConstantId bias = graph::kNone;    // read by this linear alone; as many elements as there are outputs
  };
  std::vector<Part> parts;
};

// y = gamma * n goes into linear layers only: W' = W diag(gamma), and gamma is left out. An op that normalizes keeps a
// weight of ones, or none where its new form needs none. It comes after every AbsorbShift: a beta meets the weights as
// they were before. Source: docs/method.md 8.4.
struct AbsorbGain {
  graph::NodeId gainNode = graph::kNone;  // the norm's own op, or the Mul behind a decomposed norm
  int gainOperand = 0;                    // where it reads gamma
  struct Part {
    graph::ConstantId weight = graph::kNone;  // two axes; read by this linear alone
    int inputDim = 0;                         // axis of the weight that is multiplied by gamma
  };
  std::vector<Part> parts;
};

// x = z + m for reads that would notice the lack of m: z is what the edits above leave of a residual stream x, and m,
// one number for each row of it, is the mean that they take out of what is added to it. It comes before all of them,
// whose tensors and reads it names as they were. docs/method.md 3.6.
struct RestoreMean {
  graph::ValueId value = graph::kNoValue;  // x, made by a node; m lies along its last axis, which has size 1 there
  graph::Uses uses;
  // m is the sum of all these.
  struct Linear {
    graph::NodeId node = graph::kNone;
    int input = 0;                            // where it reads what the weight multiplies
    graph::ConstantId weight = graph::kNone;  // is centered, and has two axes
    int inputDim = 0;                         // The weight's axis that is summed; the mean is over the other one.
    graph::ValueId viewed = graph::kNoValue;  // a view of what it makes, whose rows the mean gets; kNoValue: none
  };
  std::vector<Linear> linears;
  std::vector<graph::Use> constants;    // reads of tensors that are centered: their means over the last axis
  std::vector<graph::Use> values;       // reads that see a value centered at run time, or 0: its means
  std::vector<graph::ValueId> earlier;  // values of edits before this one, whose m is part of this m
};

// The LayerNorm becomes an RMSNorm with the same eps, gamma and beta.
struct ReplaceNorm {
  int norm = 0;        // index in analysis::Analysis::norms
  int64_t narrow = 0;  // of a narrow stream: its width, without gamma and beta; see NarrowNorm
};

// In the order of EditKind.
using Edit = std::variant<AbsorbScale, CenterConstant, InsertCentering, DropAddend, AbsorbShift, AbsorbGain,
                          RestoreMean, ReplaceNorm>;
[[nodiscard]] inline EditKind kindOf(const Edit& edit) { return static_cast<EditKind>(edit.index()); }

// Bytes of the tensors that an edit rewrites.
[[nodiscard]] int64_t bytesOf(const Edit& edit, const graph::Graph& graph);

struct FoldPlan {
  Policy policy = Policy::Balanced;
  // In the order of the variant; CenterConstant from coarse to fine.
  std::vector<Edit> edits;
  StreamEdits streams{};  // none in a fold
};

}  // namespace normlens::fold
