// Collects what is known of a model's values before and after a run: the file's value_info, onnx shape inference for
// concrete input sizes, and the shapes of a probe. Private to formats/onnx.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

// Holds what one run of an ONNX model showed of a value.
struct ProbedValue {
  graph::DType dtype = graph::DType::Unknown;
  graph::Shape shape;
};

// By value name of the main graph, and for values inside If, Loop and Scan bodies and functions by the path that
// Lowered::valuePath gives them. A value that was not reached or cannot be shown is absent.
using ProbeShapes = std::map<std::string, ProbedValue>;

// Whether onnx shape inference yields what neither a probe nor the file does. It takes longer than everything else.
enum class Inference : uint8_t { None, WhereMissing };

struct KnownType {
  graph::DType dtype = graph::DType::Unknown;
  std::optional<graph::Shape> dims;  // -1: a size that is not known; nullopt: not even the rank

  [[nodiscard]] std::optional<graph::Shape> shape() const;  // all sizes known
  [[nodiscard]] std::optional<int64_t> rank() const;
  bool operator==(const KnownType&) const = default;
};

// By Lowered::valuePath.
using KnownTypes = std::unordered_map<std::string, KnownType>;

[[nodiscard]] KnownType typeOf(const ::ONNX_NAMESPACE::TypeProto& type);
// Returns what onnx infers where the inputs of the main graph, and the values that were seen, have these shapes and
// nothing else is known.
[[nodiscard]] KnownTypes inferredTypes(const OnnxSource& source, const ProbeShapes& inputs,
                                       const ProbeShapes& seen = {});

// Returns what onnx infers where nothing is known but what the file fixes: sizes that every run has.
[[nodiscard]] KnownTypes staticTypes(const OnnxSource& source);

// Every value that the nodes of a main graph make is there; false where a node holds a body.
[[nodiscard]] bool covers(const ProbeShapes& shapes, const ::ONNX_NAMESPACE::GraphProto& graph);

// A sentence about the first node of a file that has bfloat16, in bodies and functions too, whose operands have types
// that ONNX does not allow beside one another; empty where there is none. bfloat16 is run as float32 here, so that a
// run does not show them (type_rules.cpp).
[[nodiscard]] std::string brokenTypeRule(const OnnxSource& source);

// Sizes for all inputs of the main graph: given ones, else the file's, else chosen (see input_sizes.h).
// After a probe the file's own claims do not count any more, and a value in a loop's body that the probe leaves out has
// no shape: it changes from one pass to the next.
[[nodiscard]] KnownTypes knownTypes(const OnnxSource& source, const ProbeShapes* probe, Inference inference);

}  // namespace normlens::formats::onnx
