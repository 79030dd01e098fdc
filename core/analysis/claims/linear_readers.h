// Follows what a norm makes down to the linear layers that read it: where its gamma and beta can go.
//
// Between norm and linears only ops that leave every channel at its place on the last axis: views, slices and averages
// over other axes. docs/method.md 8.2 and 8.4. Thread: pure functions of an immutable graph.
#pragma once

#include <cstdint>
#include <vector>

#include <tl/expected.hpp>

#include "core/analysis/norms/constant_behind.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

struct LinearReader {
  graph::NodeId node = graph::kNone;
  ConstantBehind weight;                    // two axes; `axis` is the one that is summed with the channels
  graph::Use bias;                          // node kNone: it adds none
  graph::ValueId output = graph::kNoValue;  // before the bias, where that is added by a node of its own
};

struct LinearReaders {
  std::vector<LinearReader> linears;    // at least one
  std::vector<graph::ValueId> between;  // the first value and what is made of it on the way
};

// Names what keeps a gamma or beta behind its norm.
struct Obstacle {
  enum class Kind : uint8_t {
    NoGamma,         // the norm has none
    ComputedGamma,   // it is no vector of the file, or it lies inside the norm
    BetaStays,       // a beta behind it does not move
    UnknownValue,    // no run has shown what lies between the norm and its readers
    ModelOutput,     // what the norm makes leaves the model, a branch or a loop
    OtherReader,     // `node` reads it and is no linear layer
    NoReader,        // nothing does
    ComputedWeight,  // that of `node` is no tensor of the file with two axes, or may change
    OtherType,       // the weight of `node` has another type than its output
    SharedWeight,    // something else reads the weight of `node`
  };
  Kind kind = Kind::NoGamma;
  graph::NodeId node = graph::kNone;
};

// `first` has `channels` on its last axis.
[[nodiscard]] tl::expected<LinearReaders, Obstacle> linearReaders(const graph::Graph& graph, graph::ValueId first,
                                                                  int64_t channels);

// The value that a node reads there.
[[nodiscard]] graph::ValueId valueAt(const graph::Graph& graph, const graph::Use& use);
// The node of this kind that alone reads the value; kNone where there is none.
[[nodiscard]] graph::NodeId soleReader(const graph::Graph& graph, graph::ValueId value, graph::OpKind kind);
// A vector of so many numbers, perhaps with axes of size 1 in front.
[[nodiscard]] bool isVector(const graph::Graph& graph, graph::ValueId value, int64_t size);
// The read is of a vector of `channels` numbers, a constant that is not seen through other nodes.
[[nodiscard]] bool readsVector(const graph::Graph& graph, const graph::Use& use, int64_t channels);

}  // namespace normlens::analysis
