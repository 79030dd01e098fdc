// OnnxModel::singleNorm.
#include "core/formats/onnx/edit/node_maker.h"
#include "core/formats/onnx/read/onnx_model.h"
#include "core/formats/onnx/read/tensors/dtypes.h"
#include "core/formats/onnx/save/tensor_store.h"
#include "core/graph/numbers.h"

namespace normlens::formats::onnx {

Result<std::unique_ptr<Model>> OnnxModel::singleNorm(int64_t rows, int64_t width, graph::DType dtype) const {
  constexpr int kOpset = 23;  // the first in which every flavour of the norm that replaces it can be written
  constexpr int kIrVersion = 11;
  auto model = std::make_shared<ModelProto>();
  model->set_ir_version(kIrVersion);
  model->add_opset_import()->set_version(kOpset);
  GraphProto& graph = *model->mutable_graph();
  graph.set_name("single_norm");
  for (auto* value : {graph.add_input(), graph.add_output()}) {
    value->set_name(value == &graph.input(0) ? "x" : "y");
    auto& type = *value->mutable_type()->mutable_tensor_type();
    type.set_elem_type(toOnnxType(dtype));
    for (const int64_t size : {rows, width}) type.mutable_shape()->add_dim()->set_dim_value(size);
  }
  const auto ones = graph::tensorFromDoubles({width}, std::vector<double>(static_cast<size_t>(width), 1.0), dtype);
  *graph.add_initializer() =
      rawTensor("gamma", dtype, {width}, {ones.data, static_cast<size_t>(graph::byteCount(ones))});
  NodeProto& norm = *graph.add_node();
  norm.set_op_type("LayerNormalization");
  norm.add_input("x");
  norm.add_input("gamma");
  norm.add_output("y");
  setInt(norm, "axis", -1);
  OnnxSource source;
  source.skeleton = std::move(model);
  source.weights = std::make_shared<Weights>();
  ModelFacts facts;
  facts.format = facts_.format;
  facts.dtype = dtype;
  return fromSource(std::move(source), std::move(facts));
}

}  // namespace normlens::formats::onnx
