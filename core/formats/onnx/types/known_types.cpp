#include "core/formats/onnx/types/known_types.h"

#include <google/protobuf/arena.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <functional>

#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/formats/onnx/types/guarded_schemas.h"
#include "core/formats/onnx/types/input_sizes.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::TypeProto;
using ::ONNX_NAMESPACE::ValueInfoProto;

using Visit = std::function<void(const GraphProto& body, const std::string& prefix)>;

enum class Bodies : uint8_t { All, RunOnce };

// The main graph and the bodies in it, with the prefix that Lowered::valuePath gives their values. RunOnce: not those
// of Loop and Scan, nor what is in them.
void eachGraph(const GraphProto& graph, const std::string& prefix, Bodies bodies, const Visit& visit) {
  visit(graph, prefix);
  for (int i = 0; i < graph.node_size(); ++i) {
    const auto& node = graph.node(i);
    if (bodies == Bodies::RunOnce && (node.op_type() == "Loop" || node.op_type() == "Scan")) continue;
    eachBody(node, [&](const GraphProto& body, const std::string& name) {
      eachGraph(body, prefix + std::to_string(i) + "/" + name + "/", bodies, visit);
    });
  }
}

// Collects the types that a graph states for its values; `override` replaces earlier ones, but a rank never by none.
void collect(const GraphProto& graph, const std::string& prefix, bool override, KnownTypes& into) {
  const auto take = [&](const ValueInfoProto& info) {
    KnownType type = typeOf(info.type());
    if (type == KnownType{}) return;
    const auto [at, added] = into.try_emplace(prefix + info.name(), type);
    if (added || !override) return;
    if (type.dims || !at->second.dims) at->second = std::move(type);
  };
  for (const auto& info : graph.input()) take(info);
  for (const auto& info : graph.value_info()) take(info);
  for (const auto& info : graph.output()) take(info);
}

void setShape(ValueInfoProto& info, const graph::Shape& shape) {
  auto* dims = info.mutable_type()->mutable_tensor_type()->mutable_shape();
  dims->clear_dim();
  for (const int64_t size : shape) dims->add_dim()->set_dim_value(size);
}

void forgetClaims(GraphProto& graph) {
  graph.clear_value_info();
  for (ValueInfoProto& output : *graph.mutable_output()) {
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  for (NodeProto& node : *graph.mutable_node()) eachBody(node, forgetClaims);
}

// A copy of a model, to be inferred on. On an arena: tens of thousands of nodes are not freed one by one.
class Copy {
 public:
  explicit Copy(const ModelProto& model)  // outlives it
      : original_(model), model_(google::protobuf::Arena::CreateMessage<ModelProto>(&arena_)) {
    model_->CopyFrom(model);
    forgetClaims(graph());
  }
  GraphProto& graph() { return *model_->mutable_graph(); }

  // All inputs of known size, and nothing else claimed: what the file has for later values was written for other sizes.
  void sizeInputs(const ProbeShapes* probe) {
    const auto sized = sizedInputs(original_);
    for (ValueInfoProto& input : *graph().mutable_input()) {
      const auto chosen = std::ranges::find(sized, input.name(), &SizedInput::name);
      if (chosen == sized.end() || chosen->dtype == graph::DType::Unknown) continue;
      const auto probed = probe == nullptr ? ProbeShapes::const_iterator{} : probe->find(input.name());
      if (probe != nullptr && probed != probe->end())
        setShape(input, probed->second.shape);
      else if (chosen->ranked)
        setShape(input, chosen->shape);
    }
  }

  void infer(Bodies bodies, KnownTypes& types) {
    try {
      const ::ONNX_NAMESPACE::ShapeInferenceOptions options(false, 0, true);
      const GuardedSchemas schemas;
      ::ONNX_NAMESPACE::shape_inference::InferShapes(*model_, &schemas, options);
    } catch (const std::exception&) {
      // Types that were found until then are used; a node it cannot follow costs the shapes behind that node.
    }
    eachGraph(graph(), {}, bodies,
              [&](const GraphProto& graph, const std::string& prefix) { collect(graph, prefix, true, types); });
  }

 private:
  const ModelProto& original_;
  google::protobuf::Arena arena_;
  ModelProto* model_;  // in arena_
};

// bfloat16 is run in float32, so a run does not show it.
bool usesBFloat16(const GraphProto& graph) {
  const auto holds = [](const TensorProto& tensor) { return tensor.data_type() == TensorProto::BFLOAT16; };
  const auto takes = [](const ValueInfoProto& input) {
    return input.type().tensor_type().elem_type() == TensorProto::BFLOAT16;
  };
  return std::ranges::any_of(graph.initializer(), holds) || std::ranges::any_of(graph.input(), takes);
}

// A float32 of a run is the file's bfloat16 unless the file states otherwise.
void takeProbe(const ProbeShapes& probe, bool narrowed, KnownTypes& types) {
  for (const auto& [path, value] : probe) {
    KnownType& type = types[path];
    const bool keeps = narrowed && value.dtype == graph::DType::Float32 && type.dtype != graph::DType::Float32;
    type.dims = value.shape;
    type.dtype = keeps ? graph::DType::BFloat16 : value.dtype;
  }
}

}  // namespace

std::optional<graph::Shape> KnownType::shape() const {
  if (!dims || std::ranges::find(*dims, -1) != dims->end() || isAbsurd(*dims)) return std::nullopt;
  return dims;
}

std::optional<int64_t> KnownType::rank() const {
  return dims ? std::optional(static_cast<int64_t>(dims->size())) : std::nullopt;
}

KnownType typeOf(const TypeProto& type) {
  KnownType known;
  if (!type.has_tensor_type()) return known;
  known.dtype = fromOnnxType(type.tensor_type().elem_type());
  if (!type.tensor_type().has_shape() || type.tensor_type().shape().dim_size() > kMostAxes) return known;
  known.dims.emplace();
  for (const auto& dim : type.tensor_type().shape().dim())
    known.dims->push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  return known;
}

bool covers(const ProbeShapes& shapes, const GraphProto& graph) {
  return std::ranges::all_of(graph.node(), [&](const NodeProto& node) {
    return !holdsBody(node) && std::ranges::all_of(node.output(), [&](const std::string& name) {
      return name.empty() || node.op_type() == "Constant" || shapes.contains(name);
    });
  });
}

KnownTypes inferredTypes(const OnnxSource& source, const ProbeShapes& inputs, const ProbeShapes& seen) {
  KnownTypes types;
  Copy sized(*source.skeleton);
  sized.sizeInputs(&inputs);
  for (const auto& [name, value] : seen) {
    auto& info = *sized.graph().add_value_info();
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(toOnnxType(value.dtype));
    setShape(info, value.shape);
  }
  sized.infer(Bodies::All, types);
  return types;
}

KnownTypes staticTypes(const OnnxSource& source) {
  KnownTypes types;
  Copy(*source.skeleton).infer(Bodies::All, types);
  return types;
}

KnownTypes knownTypes(const OnnxSource& source, const ProbeShapes* probe, Inference inference) {
  KnownTypes types;
  const GraphProto& main = source.skeleton->graph();
  types.reserve(static_cast<size_t>(main.node_size()) + static_cast<size_t>(main.input_size()));
  const bool narrowed = probe != nullptr && usesBFloat16(main);
  if (probe == nullptr)
    eachGraph(main, {}, Bodies::All,
              [&](const GraphProto& graph, const std::string& prefix) { collect(graph, prefix, false, types); });
  if (inference == Inference::WhereMissing && (probe == nullptr || narrowed || !covers(*probe, main))) {
    Copy sized(*source.skeleton);
    sized.sizeInputs(probe);
    sized.infer(probe == nullptr ? Bodies::All : Bodies::RunOnce, types);
  }
  if (probe != nullptr) takeProbe(*probe, narrowed, types);
  return types;
}

}  // namespace normlens::formats::onnx
