#include "tests/formats/onnx/onnx_fixture.h"

#include <onnx/checker.h>
#include <onnx/defs/parser.h>
#include <onnx/shape_inference/implementation.h>

#include <random>
#include <stdexcept>

#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

struct OwnedText {
  std::string bytes;
};

graph::TensorView viewOfRaw(const TensorProto& tensor) {
  auto owner = std::make_shared<OwnedText>(OwnedText{tensor.raw_data()});
  graph::TensorView view;
  view.data = reinterpret_cast<const std::byte*>(owner->bytes.data());
  view.dtype = fromOnnxType(tensor.data_type());
  view.shape.assign(tensor.dims().begin(), tensor.dims().end());
  view.strides.assign(view.shape.size(), 1);
  for (size_t i = view.shape.size(); i-- > 1;) view.strides[i - 1] = view.strides[i] * view.shape[i];
  view.owner = owner;
  return view;
}

}  // namespace

ModelProto modelFromText(std::string_view text) {
  ModelProto model;
  const std::string copy(text);
  ::ONNX_NAMESPACE::OnnxParser parser(copy);
  const auto status = parser.Parse(model);
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  return model;
}

OnnxSource sourceOf(const ModelProto& model, size_t largeBytes) {
  auto skeleton = std::make_shared<ModelProto>(model);
  auto weights = std::make_shared<Weights>();
  for (auto& tensor : *skeleton->mutable_graph()->mutable_initializer()) {
    if (!tensor.has_raw_data() || tensor.raw_data().size() < largeBytes) continue;
    Weight weight;
    weight.view = viewOfRaw(tensor);
    weight.storedAt.bytes = tensor.raw_data().size();
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    weights->emplace(tensor.name(), std::move(weight));
  }
  OnnxSource source;
  source.skeleton = std::move(skeleton);
  source.weights = std::move(weights);
  source.path = "small.onnx";
  return source;
}

void addTensor(GraphProto& graph, const std::string& name, const graph::Shape& shape, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<float> values(static_cast<size_t>(graph::elementCount(shape).value()));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 500.0F + 0.3F;
  auto* tensor = graph.add_initializer();
  for (const int64_t dim : shape) tensor->add_dims(dim);
  tensor->set_name(name);
  tensor->set_data_type(TensorProto::FLOAT);
  tensor->set_raw_data(values.data(), values.size() * sizeof(float));
}

void addTensor(ModelProto& model, const std::string& name, const graph::Shape& shape, int seed) {
  addTensor(*model.mutable_graph(), name, shape, seed);
}

ModelProto wholeModel(const OnnxSource& source) {
  ModelProto model = *source.skeleton;
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const auto weight = source.weights->find(tensor.name());
    if (weight == source.weights->end()) continue;
    const auto& view = weight->second.view;
    tensor.clear_data_location();
    tensor.clear_external_data();
    tensor.set_raw_data(view.data,
                        static_cast<size_t>(*graph::elementCount(view.shape)) * graph::dtypeBytes(view.dtype));
  }
  return model;
}

std::string opsOf(const GraphProto& graph) {
  std::string out;
  for (const auto& node : graph.node()) {
    out += (out.empty() ? "" : ",") + node.op_type();
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) out += "{" + opsOf(attribute.g()) + "}";
    }
  }
  return out;
}

std::string checkerSays(const ModelProto& model) {
  try {
    ::ONNX_NAMESPACE::checker::check_model(model, /*full_check=*/true);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace normlens::formats::onnx
