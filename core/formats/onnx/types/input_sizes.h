// Sizes for the inputs of a model whose file leaves some of them open. Private to formats/onnx.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/formats/model.h"
#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

struct SizedInput {
  std::string name;
  graph::DType dtype = graph::DType::Unknown;  // Unknown: not a tensor, or of a type that we have not
  bool ranked = true;                          // false: the file does not even state how many axes there are
  graph::Shape shape;
  std::vector<int> freeAxes;       // chosen by us
  bool one = false;                // an axis that the file leaves open has size 1, and is not free
  std::vector<std::string> names;  // by axis: what the file calls an open size; empty where fixed
};

// Exporters that name the axes of each input after that input leave it open which of them belong together.
enum class SizeSharing : uint8_t {
  AsNamed,   // axes of one name
  Batch,     // and the first axes of all inputs
  SameRank,  // and axes in the same place of inputs with as many axes
  SameAxis,  // and axes in the same place of any inputs
};

// Inputs of the main graph without initializers, in order. Axes that belong together get one size, all others pairwise
// different sizes, at least 2; "a + b" gets the sum where a and b are known. one: the number of a size, in the order in
// which they are chosen, that is 1 and not free; kAllSizes: all of them.
constexpr int kNoSize = -1, kAllSizes = -2;
[[nodiscard]] std::vector<SizedInput> sizedInputs(const ModelProto& model, SizeSharing sharing = SizeSharing::AsNamed,
                                                  int one = kNoSize);

// Returns whether a name holds one of these words, whatever its letters' case.
[[nodiscard]] bool mentions(std::string name, std::initializer_list<const char*> words);

// The tensor that is meant for the input at this position: by the model's name, else "in_0" ..., else in order; null:
// none.
[[nodiscard]] const graph::TensorView* inputFor(const Tensors& inputs, const std::string& name, size_t position);

}  // namespace normlens::formats::onnx
