// The rule functions that op_table.cpp puts in rows, by file. Not for use outside ops/.
#pragma once

#include "core/ops/rules.h"

namespace normlens::ops {

using graph::Graph;
using graph::kNone;
using graph::kNoValue;
using graph::Node;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

template <class Answer>
using SizedRule = typename Rule<Answer>::OfSizes;

#define NORMLENS_RULE(name)                                                                                   \
  [[nodiscard]] ZeroMean name##ZeroMean(const graph::Graph&, const graph::Node&, int output, const Pattern&); \
  [[nodiscard]] Shift name##Shift(const graph::Graph&, const graph::Node&, int operand, const Pattern&)

// rules_pointwise.cpp
NORMLENS_RULE(identity);
NORMLENS_RULE(cast);
NORMLENS_RULE(addition);
NORMLENS_RULE(product);
NORMLENS_RULE(where);
NORMLENS_RULE(maskedFill);
NORMLENS_RULE(maskedCopy);
NORMLENS_RULE(opaque);
NORMLENS_RULE(shapeQuery);
SizeRule ownSize, newSize, sameSize, broadcastSize;

// rules_shape.cpp
NORMLENS_RULE(reshape);
NORMLENS_RULE(permute);
NORMLENS_RULE(expand);
NORMLENS_RULE(roll);
NORMLENS_RULE(gather);
SizeRule reshapeSize, permuteSize, expandSize, gatherSize;

// rules_window.cpp
NORMLENS_RULE(cut);  // Slice, Select, Split, Unbind
NORMLENS_RULE(pad);
SizeRule windowSize, selectSize, padSize;

// rules_concat.cpp
SizedRule<ZeroMean> concatZeroMean;
SizedRule<Shift> concatShift;
NORMLENS_RULE(stack);
SizeRule concatSize, stackSize;

// rules_rearrange.cpp
NORMLENS_RULE(rearrange);

// rules_scatter.cpp
NORMLENS_RULE(scatter);

// rules_mixing.cpp
NORMLENS_RULE(reduce);
NORMLENS_RULE(mix);
SizeRule reduceSize, mixSize;

// rules_norm.cpp
SizedRule<ZeroMean> layerNormZeroMean, rmsNormZeroMean;
SizedRule<Shift> layerNormShift, batchNormShift, otherNormShift, softmaxShift;
[[nodiscard]] ZeroMean batchNormZeroMean(const graph::Graph&, const graph::Node&, int output, const Pattern&);
[[nodiscard]] ZeroMean otherNormZeroMean(const graph::Graph&, const graph::Node&, int output, const Pattern&);
[[nodiscard]] ZeroMean softmaxZeroMean(const graph::Graph&, const graph::Node&, int output, const Pattern&);
[[nodiscard]] Shift rmsNormShift(const graph::Graph&, const graph::Node&, int operand, const Pattern&);
SizeRule layerNormSize, channelNormSize;

// rules_rearrange.cpp
NORMLENS_RULE(control);

// axis_size.cpp
SizeRule linearSize, matMulSize, addMatMulSize, convSize, attentionSize;

#undef NORMLENS_RULE

}  // namespace normlens::ops
