// LayerNorms and RMSNorms in one form, with the gamma and beta that are in nodes of their own behind them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"

namespace normlens::analysis {

// With all nodes that it is made of.
struct WholeNorm : NormParts {
  bool centers = false;  // a LayerNorm; false: an RMSNorm
};

[[nodiscard]] WholeNorm wholeNorm(const graph::Graph& graph, const LayerNorm& norm);
// norm: an RMSNorm. withBeta: a beta behind it is part of it.
[[nodiscard]] WholeNorm wholeNorm(const graph::Graph& graph, const OtherNorm& norm, bool withBeta = true);

struct JoinableNorm {
  std::string name;
  WholeNorm norm;
};

// LayerNorms and RMSNorms that are written out and could be one op: nothing else reads more than the sizes of what is
// inside, their means are exact, gamma and beta are vectors, and all that goes in and out has one type. rmsWithBeta:
// the op for RMSNorms has a beta, too. leadingOnes: gamma and beta may have axes of size 1 in front.
[[nodiscard]] std::vector<JoinableNorm> joinableNorms(const graph::Graph& graph, const Norms& norms, bool rmsWithBeta,
                                                      bool leadingOnes = false);

// Returns how one of the norm's nodes, or a cast before them, reads a value; nullopt where none does.
[[nodiscard]] std::optional<graph::Use> readOf(const graph::Graph& graph, const WholeNorm& norm, graph::ValueId value);

}  // namespace normlens::analysis
