#include "core/formats/onnx/read/read_model.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/formats/onnx/read/external_data.h"
#include "core/formats/onnx/read/split_weights.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

// Tensors of nodes and bodies are read into the skeleton, which has to stay well below protobuf's 2 GB.
constexpr uint64_t kMaxInlined = uint64_t{512} << 20;

tl::unexpected<Error> damaged() {
  return fail(ErrorCode::Unreadable, "is not a valid ONNX model: it is cut off or damaged",
              "copy or export the file again");
}

// field: where the data lay in the file.
Result<Weight> checkLarge(const TensorProto& tensor, const LargeTensor& large,
                          const std::shared_ptr<const MappedFile>& file) {
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
  weight.view = viewWithoutData(tensor, file);
  weight.view.data = large.data.data();
  weight.storedAt = {{}, static_cast<uint64_t>(large.data.data() - file->bytes().data()), large.data.size()};
  weight.field = large.field;
  return weight;
}

// Reads external tensors of nodes, bodies and functions into the protobuf: only initializers of the main graph have a
// place of their own in an OnnxSource.
Status inlineOthers(ModelProto& model, ExternalFiles& files) {
  uint64_t inlined = 0;
  Status status;
  const auto take = [&](TensorProto& tensor) {
    if (!status || tensor.data_location() != TensorProto::EXTERNAL) return;
    const auto weight = files.load(tensor, "tensor " + quotedName(tensor.name()));
    if (!weight) {
      status = tl::unexpected(weight.error());
      return;
    }
    const uint64_t bytes = weight->storedAt.bytes;
    inlined += bytes;
    if (inlined > kMaxInlined) {
      status = fail(ErrorCode::Unsupported, "keeps more than 512 MB of external data in nodes and bodies");
      return;
    }
    tensor.set_raw_data(weight->view.data, static_cast<size_t>(bytes));
    tensor.clear_external_data();
    tensor.clear_data_location();
  };
  for (auto& sparse : *model.mutable_graph()->mutable_sparse_initializer()) eachTensor(sparse, take);
  for (NodeProto& node : *model.mutable_graph()->mutable_node()) eachTensor(node, take);
  for (auto& function : *model.mutable_functions()) eachTensor(function, take);
  return status;
}

Status loadWeights(const ModelProto& skeleton, const SplitModel& split, const std::shared_ptr<const MappedFile>& file,
                   ExternalFiles& files, Weights& weights, bool& external) {
  size_t next = 0;
  for (const TensorProto& tensor : skeleton.graph().initializer()) {
    if (tensor.data_location() != TensorProto::EXTERNAL) continue;
    // Large tensors were taken out in their order in the file.
    const bool inside =
        next < split.tensors.size() && tensor.external_data_size() == 0 && split.tensors[next].name == tensor.name();
    auto weight = inside ? checkLarge(tensor, split.tensors[next], file)
                         : files.load(tensor, "initializer " + quotedName(tensor.name()));
    if (!weight) return tl::unexpected(weight.error());
    next += inside ? 1 : 0;
    external = external || !inside;
    weights.emplace(tensor.name(), std::move(*weight));
  }
  return {};
}

using Nodes = ::google::protobuf::RepeatedPtrField<NodeProto>;

// Depth first, without recursion: a file may hold a chain of any length. One that is open already is part of a cycle.
std::vector<int> orderOf(const Nodes& nodes) {
  std::unordered_map<std::string_view, int> maker;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].output()) maker.try_emplace(output, i);
  }
  maker.erase("");
  enum class State : char { Unseen, Open, Placed };
  std::vector<State> states(static_cast<size_t>(nodes.size()), State::Unseen);
  const auto stateOf = [&](int node) -> State& { return states[static_cast<size_t>(node)]; };
  std::vector<int> order, waiting, makers;
  for (int i = 0; i < nodes.size(); ++i) {
    waiting.push_back(i);
    while (!waiting.empty()) {
      const int node = waiting.back();
      if (stateOf(node) != State::Unseen) {
        waiting.pop_back();
        if (std::exchange(stateOf(node), State::Placed) == State::Open) order.push_back(node);
        continue;
      }
      stateOf(node) = State::Open;
      makers.clear();
      eachRead(nodes[node], [&](const std::string& name) {
        const auto found = maker.find(name);
        if (found != maker.end() && stateOf(found->second) == State::Unseen) makers.push_back(found->second);
      });
      std::ranges::sort(makers, std::greater());  // the file's first comes first
      waiting.insert(waiting.end(), makers.begin(), makers.end());
    }
  }
  return order;
}

bool sortList(Nodes& nodes) {
  bool moved = false;
  for (NodeProto& node : nodes) {
    eachBody(node, [&](GraphProto& body) { moved |= sortList(*body.mutable_node()); });
  }
  const std::vector<int> order = orderOf(nodes);
  if (std::ranges::is_sorted(order)) return moved;
  std::vector<NodeProto*> taken(order.size());
  nodes.ExtractSubrange(0, nodes.size(), taken.data());
  for (const int node : order) nodes.AddAllocated(taken[static_cast<size_t>(node)]);
  return true;
}

// Nodes of all graphs, bodies and functions so that each is behind the nodes whose values it or its bodies read.
// Tools append nodes where it suits them, and ONNX Runtime does not mind; everything here goes by the order. The file's
// order stays but for nodes that are too late: they move up to their first reader. A cycle stays one. False: all
// were right.
bool sortNodes(ModelProto& model) {
  bool moved = model.has_graph() && sortList(*model.mutable_graph()->mutable_node());
  for (auto& function : *model.mutable_functions()) moved |= sortList(*function.mutable_node());
  return moved;
}

Result<OnnxSource> read(const std::shared_ptr<const MappedFile>& file, const Task& task) {
  const auto split = splitWeights(file->bytes());
  if (!split) return damaged();
  auto skeleton = std::make_shared<ModelProto>();
  // Protobuf's own limit on nesting stays: the stack is not the file's to use up.
  const bool large = split->skeleton.size() > static_cast<size_t>(std::numeric_limits<int>::max());
  if (large || !skeleton->ParseFromString(split->skeleton)) return damaged();
  if (auto go = task.check(); !go) return tl::unexpected(go.error());
  auto checked = checkModel(*skeleton);
  // A model that passes the check is not sorted and costs nothing more.
  if (!checked && sortNodes(*skeleton)) checked = checkModel(*skeleton);
  if (!checked) return tl::unexpected(checked.error());
  ExternalFiles files(file->path());
  auto weights = std::make_shared<Weights>();
  OnnxSource source;
  if (auto ok = loadWeights(*skeleton, *split, file, files, *weights, source.externalData); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = inlineOthers(*skeleton, files); !ok) return tl::unexpected(ok.error());
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
