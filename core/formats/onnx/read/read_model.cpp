#include "core/formats/onnx/read/read_model.h"

#include <google/protobuf/io/coded_stream.h>

#include <limits>

#include "core/formats/onnx/read/check_model.h"
#include "core/formats/onnx/read/names.h"
#include "core/formats/onnx/read/sort_nodes.h"
#include "core/formats/onnx/read/tensors/dtypes.h"
#include "core/formats/onnx/read/tensors/external_data.h"
#include "core/formats/onnx/read/tensors/split_weights.h"
#include "core/formats/onnx/read/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::AttributeProto;

// Tensors of nodes and bodies are read into the skeleton, which has to stay well below protobuf's 2 GB.
constexpr uint64_t kMaxInlined = uint64_t{512} << 20;

tl::unexpected<Error> damaged() {
  return fail(ErrorCode::Unreadable, "is not a valid ONNX model: it is cut off or damaged",
              "copy or export the file again");
}

// field: where the data lay in the file.
Result<Weight> checkLarge(const TensorProto& tensor, const LargeTensor& large, const MappedFile& file) {
  const std::string what = "initializer " + quotedName(tensor.name());
  const auto expected = rawBytes(tensor);
  if (!expected) return fail(ErrorCode::Unreadable, what + " holds data that its type cannot have");
  const bool fits = large.field == TensorProto::kRawDataFieldNumber ||
                    (large.field == TensorProto::kFloatDataFieldNumber &&
                     (tensor.data_type() == TensorProto::FLOAT || tensor.data_type() == TensorProto::COMPLEX64)) ||
                    (large.field == TensorProto::kDoubleDataFieldNumber &&
                     (tensor.data_type() == TensorProto::DOUBLE || tensor.data_type() == TensorProto::COMPLEX128));
  if (!fits) return fail(ErrorCode::Unreadable, what + " holds its data in the wrong field for its type");
  if (large.data.size() != *expected)
    return fail(ErrorCode::Unreadable, what + " has " + std::to_string(large.data.size()) +
                                           " bytes, its dimensions ask for " + std::to_string(*expected));
  Weight weight;
  weight.view.dtype = fromOnnxType(tensor.data_type());
  weight.view.shape = dimsOf(tensor);
  weight.view.strides = denseStrides(weight.view.shape);
  weight.view.data = large.data.data();
  weight.storedAt = {{}, static_cast<uint64_t>(large.data.data() - file.bytes().data()), large.data.size()};
  weight.field = large.field;
  return weight;
}

// Reads external tensors of nodes, bodies and functions into the protobuf: only initializers of the main graph have a
// place of their own in an OnnxSource.
class Inliner {
 public:
  explicit Inliner(ExternalFiles& files) : files_(files) {}

  Status tensor(TensorProto& tensor) {
    if (tensor.data_location() != TensorProto::EXTERNAL) return {};
    const std::string what = "tensor " + quotedName(tensor.name());
    const auto weight = files_.load(tensor, what);
    if (!weight) return tl::unexpected(weight.error());
    const uint64_t bytes = weight->storedAt.bytes;
    inlined_ += bytes;
    if (inlined_ > kMaxInlined)
      return fail(ErrorCode::Unsupported, "keeps more than 512 MB of external data in nodes and bodies");
    tensor.set_raw_data(weight->view.data, static_cast<size_t>(bytes));
    tensor.clear_external_data();
    tensor.clear_data_location();
    return {};
  }

  Status graph(GraphProto& graph, bool main) {
    if (!main) {
      for (TensorProto& one : *graph.mutable_initializer()) {
        if (auto ok = tensor(one); !ok) return ok;
      }
    }
    for (auto& sparse : *graph.mutable_sparse_initializer()) {
      if (auto ok = tensor(*sparse.mutable_values()); !ok) return ok;
      if (auto ok = tensor(*sparse.mutable_indices()); !ok) return ok;
    }
    return nodes(*graph.mutable_node());
  }

  template <class Nodes>
  Status nodes(Nodes& list) {
    for (NodeProto& node : list) {
      if (auto ok = attributes(*node.mutable_attribute()); !ok) return ok;
    }
    return {};
  }

  template <class Attributes>
  Status attributes(Attributes& list) {
    for (AttributeProto& attribute : list) {
      if (attribute.has_t()) {
        if (auto ok = tensor(*attribute.mutable_t()); !ok) return ok;
      }
      for (TensorProto& one : *attribute.mutable_tensors()) {
        if (auto ok = tensor(one); !ok) return ok;
      }
      if (attribute.has_g()) {
        if (auto ok = graph(*attribute.mutable_g(), false); !ok) return ok;
      }
      for (GraphProto& body : *attribute.mutable_graphs()) {
        if (auto ok = graph(body, false); !ok) return ok;
      }
    }
    return {};
  }

 private:
  ExternalFiles& files_;
  uint64_t inlined_ = 0;
};

Status loadWeights(const ModelProto& skeleton, const SplitModel& split, const std::shared_ptr<const MappedFile>& file,
                   ExternalFiles& files, Weights& weights, bool& external) {
  size_t next = 0;
  for (const TensorProto& tensor : skeleton.graph().initializer()) {
    if (tensor.data_location() != TensorProto::EXTERNAL) continue;
    // Large tensors were taken out in the order in which they stand.
    const bool inside =
        next < split.tensors.size() && tensor.external_data_size() == 0 && split.tensors[next].name == tensor.name();
    auto weight = inside ? checkLarge(tensor, split.tensors[next], *file)
                         : files.load(tensor, "initializer " + quotedName(tensor.name()));
    if (!weight) return tl::unexpected(weight.error());
    if (inside) {
      weight->view.owner = file;
      ++next;
    } else {
      external = true;
    }
    weights.emplace(tensor.name(), std::move(*weight));
  }
  return {};
}

bool parse(const std::string& bytes, ModelProto& model) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) return false;
  // Protobuf's own limit on nesting stays: the stack is not the file's to use up.
  return model.ParseFromString(bytes);
}

Result<OnnxSource> read(const std::shared_ptr<const MappedFile>& file, const Task& task) {
  const auto split = splitWeights(file->bytes());
  if (!split) return damaged();
  auto skeleton = std::make_shared<ModelProto>();
  if (!parse(split->skeleton, *skeleton)) return damaged();
  if (auto go = task.check(); !go) return tl::unexpected(go.error());
  auto checked = checkModel(*skeleton);
  // What is in order pays nothing for being asked.
  if (!checked && sortNodes(*skeleton)) checked = checkModel(*skeleton);
  if (!checked) return tl::unexpected(checked.error());
  ExternalFiles files(file->path());
  auto weights = std::make_shared<Weights>();
  OnnxSource source;
  if (auto ok = loadWeights(*skeleton, *split, file, files, *weights, source.externalData); !ok)
    return tl::unexpected(ok.error());
  Inliner inliner(files);
  if (auto ok = inliner.graph(*skeleton->mutable_graph(), true); !ok) return tl::unexpected(ok.error());
  for (auto& function : *skeleton->mutable_functions()) {
    if (auto ok = inliner.nodes(*function.mutable_node()); !ok) return tl::unexpected(ok.error());
    if (auto ok = inliner.attributes(*function.mutable_attribute_proto()); !ok) return tl::unexpected(ok.error());
  }
  source.skeleton = std::move(skeleton);
  source.weights = std::move(weights);
  source.path = file->path();
  source.file = file;
  source.dataFiles = files.files();
  return source;
}

}  // namespace

Result<OnnxSource> readModel(const std::shared_ptr<const MappedFile>& file, const Task& task) {
  auto source = read(file, task);
  if (source || source.error().code == ErrorCode::Cancelled) return source;
  Error error = source.error();
  error.message = file->path().string() + ": " + error.message;
  if (error.hint.empty()) error.hint = "export the model again";
  return tl::unexpected(std::move(error));
}

}  // namespace normlens::formats::onnx
