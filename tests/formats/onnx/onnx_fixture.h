// Small ONNX models for the tests, written in onnx's own text form.
#pragma once

#include <string>
#include <string_view>

#include "core/formats/onnx/model/onnx_model.h"

namespace normlens::formats::onnx {

// Throws std::runtime_error where the text is no model. Tensors may be given as initializers in the text.
ModelProto modelFromText(std::string_view text);
// The same as it would be read from a file: tensors of at least `largeBytes` are taken out of the skeleton.
OnnxSource sourceOf(const ModelProto& model, size_t largeBytes = 1024);
// A float initializer with reproducible numbers.
void addTensor(ModelProto& model, const std::string& name, const graph::Shape& shape, int seed);
void addTensor(GraphProto& graph, const std::string& name, const graph::Shape& shape, int seed);
// The skeleton with the weights back in their places.
ModelProto wholeModel(const OnnxSource& source);
// "Add,Mul,..." in order; bodies in braces.
std::string opsOf(const GraphProto& graph);
// The onnx checker with full shape inference; the message, empty when content.
std::string checkerSays(const ModelProto& model);

}  // namespace normlens::formats::onnx
