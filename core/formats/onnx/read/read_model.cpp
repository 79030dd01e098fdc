#include "core/formats/onnx/read/read_model.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/formats/onnx/read/split_weights.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

// ---- tensors that a model keeps in files beside it

namespace fs = std::filesystem;

constexpr const char* kHint = "put all files of the model into one folder, or export it again";

struct ExternalLocation {
  std::string location;
  std::optional<uint64_t> offset, length;
};

// A number written in decimal digits; an error where it is anything else.
Result<uint64_t> number(const std::string& text, const std::string& what, const char* name) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  const bool negative = text.starts_with('-');
  return fail(ErrorCode::Unreadable,
              what + " has a " + (negative ? "negative" : "senseless") + " external data " + name + " (" +
                  quotedName(text.substr(0, 40)) + ")",
              kHint);
}

Result<ExternalLocation> locationOf(const TensorProto& tensor, const std::string& what) {
  ExternalLocation external;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") external.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    ASSIGN_OR_RETURN(const auto value, number(entry.value(), what, entry.key().c_str()));
    (entry.key() == "offset" ? external.offset : external.length) = value;
  }
  if (external.location.empty() || external.location.find('\0') != std::string::npos)
    return fail(ErrorCode::Unreadable, what + " has external data without a location", kHint);
  return external;
}

// Written for any system: a drive letter or a backslash at the start is absolute too.
bool isAbsolute(const std::string& location) {
  return location[0] == '/' || location[0] == '\\' || (location.size() > 1 && location[1] == ':');
}

bool isInside(const fs::path& folder, const fs::path& file) {
  const auto [end, _] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end();
}

// Nothing outside the model's folder is ever opened; where the model is a link, as in a cache of downloads, the folder
// that it leads to is the model's too.
class ExternalFiles {
 public:
  // model: the .onnx file; its folder is where the others have to be, links resolved.
  explicit ExternalFiles(const fs::path& model);

  // The bytes of a tensor whose data_location is EXTERNAL, as a view that keeps its file mapped. Its dims and element
  // type are known to be sound. Errors: Unreadable, with the tensor's name and the place's; no model file is named.
  [[nodiscard]] Result<Weight> load(const TensorProto& tensor, const std::string& what);

  // Those that were opened, by location as it is written in the model.
  [[nodiscard]] const DataFiles& files() const { return files_; }

 private:
  [[nodiscard]] Result<std::shared_ptr<const MappedFile>> fileAt(const std::string& location, const std::string& what);

  fs::path folder_;  // holds the model
  fs::path stored_;  // and where its bytes lie
  DataFiles files_;
};

ExternalFiles::ExternalFiles(const fs::path& model) {
  std::error_code error;
  const fs::path parent = model.has_parent_path() ? model.parent_path() : fs::path(".");
  folder_ = fs::canonical(parent, error);
  if (error) folder_ = parent;
  const fs::path target = fs::canonical(model, error);
  stored_ = error ? folder_ : target.parent_path();
}

Result<std::shared_ptr<const MappedFile>> ExternalFiles::fileAt(const std::string& location, const std::string& what) {
  if (const auto known = files_.find(location); known != files_.end()) return known->second;
  const auto wrong = [&](const std::string& text) {
    return fail(ErrorCode::Unreadable, what + " wants external data in " + quotedName(location) + ", " + text, kHint);
  };
  if (isAbsolute(location)) return wrong("an absolute path, which is not allowed");
  const fs::path lexical = fs::path(location).lexically_normal();
  if (!lexical.empty() && *lexical.begin() == "..") return wrong("which leaves the model's folder");
  std::error_code error;
  const fs::path path = fs::canonical(folder_ / lexical, error);
  if (error) return wrong("which is not next to the model");
  if (!isInside(folder_, path) && !isInside(stored_, path)) return wrong("a link that leaves the model's folder");
  if (!fs::is_regular_file(path, error) || error) return wrong("which is not a file");
  ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  files_.emplace(location, file);
  return file;
}

Result<Weight> ExternalFiles::load(const TensorProto& tensor, const std::string& what) {
  ASSIGN_OR_RETURN(const auto external, locationOf(tensor, what));
  const auto expected = rawBytes(tensor);
  if (!expected) return fail(ErrorCode::Unreadable, what + " has external data of a type without a fixed size", kHint);
  if (external.length && *external.length != *expected)
    return fail(ErrorCode::Unreadable,
                what + " has " + std::to_string(*external.length) + " bytes of external data, its dimensions ask for " +
                    std::to_string(*expected),
                kHint);
  ASSIGN_OR_RETURN(const auto file, fileAt(external.location, what));
  const uint64_t offset = external.offset.value_or(0);
  const uint64_t size = file->bytes().size();
  if (offset > size || *expected > size - offset)
    return fail(ErrorCode::Unreadable,
                what + " needs bytes " + std::to_string(offset) + " to " + std::to_string(offset + *expected) + " of " +
                    quotedName(external.location) + ", which has " + std::to_string(size),
                kHint);
  Weight weight;
  weight.view = viewWithoutData(tensor, file);
  weight.view.data = file->bytes().data() + offset;
  weight.storedAt = {external.location, offset, *expected};
  return weight;
}

// ---- the model

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
    ASSIGN_OR_RETURN(auto weight, inside ? checkLarge(tensor, split.tensors[next], file)
                                         : files.load(tensor, "initializer " + quotedName(tensor.name())));
    next += inside ? 1 : 0;
    external = external || !inside;
    weights.emplace(tensor.name(), std::move(weight));
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
  RETURN_IF_ERROR(task.check());
  auto checked = checkModel(*skeleton);
  // A model that passes the check is not sorted and costs nothing more.
  if (!checked && sortNodes(*skeleton)) checked = checkModel(*skeleton);
  if (!checked) return tl::unexpected(checked.error());
  ExternalFiles files(file->path());
  auto weights = std::make_shared<Weights>();
  OnnxSource source;
  RETURN_IF_ERROR(loadWeights(*skeleton, *split, file, files, *weights, source.externalData));
  RETURN_IF_ERROR(inlineOthers(*skeleton, files));
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
