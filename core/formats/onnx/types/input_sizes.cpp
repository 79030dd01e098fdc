#include "core/formats/onnx/types/input_sizes.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

// Returns the size that such an axis usually has.
int64_t usualSize(const std::string& name, size_t axis, size_t rank, graph::DType dtype) {
  const bool image = rank == 4 && graph::isFloat(dtype) && axis >= 2;
  if (mentions(name, {"batch"})) return 2;
  if (image || mentions(name, {"height", "width"})) return 64;
  if (mentions(name, {"seq", "length", "token", "time"})) return 8;
  if (axis == 0) return 2;
  if (rank == 3 && axis == 2 && graph::isFloat(dtype)) return 80;
  return 8;
}

// Axes with the same key share a size whatever they are called; empty: none.
std::string sharedKey(SizeSharing sharing, size_t axis, size_t rank) {
  if (sharing == SizeSharing::AsNamed || (sharing == SizeSharing::Batch && axis > 0)) return {};
  const bool byRank = sharing == SizeSharing::SameRank && axis > 0;
  return std::to_string(axis) + (byRank ? " of " + std::to_string(rank) : std::string());
}

class Sizes {
 public:
  Sizes(SizeSharing sharing, int one) : sharing_(sharing), one_(one) {}

  int64_t sizeOf(const std::string& name, size_t axis, size_t rank, graph::DType dtype) {
    if (const auto known = byName_.find(name); !name.empty() && known != byName_.end()) return known->second;
    const std::string key = sharedKey(sharing_, axis, rank);
    const auto shared = byKey_.find(key);
    int64_t size = sumOf(name).value_or(!key.empty() && shared != byKey_.end() ? shared->second : 0);
    if (size == 0) {
      const bool isOne = one_ == kAllSizes || one_ == chosen_;
      size = isOne ? 1 : freeFrom(usualSize(name, axis, rank, dtype));
      ++chosen_;
      if (!key.empty()) byKey_[key] = size;
    }
    if (!name.empty()) byName_[name] = size;
    return size;
  }

 private:
  // "past_length + sequence_length", "s1 + 1".
  [[nodiscard]] std::optional<int64_t> sumOf(const std::string& text) const {
    const size_t plus = text.find('+');
    if (plus == std::string::npos) return std::nullopt;
    const auto left = termOf(text.substr(0, plus)), right = termOf(text.substr(plus + 1));
    constexpr int64_t kMost = int64_t{1} << 30;  // sums of sums grow
    return left && right && *left < kMost && *right < kMost ? std::optional(*left + *right) : std::nullopt;
  }
  [[nodiscard]] std::optional<int64_t> termOf(std::string text) const {
    std::erase(text, ' ');
    if (const auto known = byName_.find(text); known != byName_.end()) return known->second;
    const bool digits =
        !text.empty() && text.size() < 7 && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
    return digits ? std::optional<int64_t>(std::stoll(text)) : std::nullopt;
  }

  int64_t freeFrom(int64_t usual) {
    const int64_t step = usual >= 64 ? 32 : 1;
    int64_t& next = next_.try_emplace(usual, usual).first->second;
    while (!taken_.insert(next).second) next += step;
    return next;
  }

  SizeSharing sharing_;
  int one_, chosen_ = 0;
  std::map<std::string, int64_t> byName_, byKey_;
  std::set<int64_t> taken_;
  std::map<int64_t, int64_t> next_;  // by usual size: all from there to here are taken
};

}  // namespace

bool mentions(std::string name, std::initializer_list<const char*> words) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(words, [&](const char* word) { return name.find(word) != std::string::npos; });
}

std::vector<SizedInput> sizedInputs(const ModelProto& model, SizeSharing sharing, int one) {
  const GraphProto& graph = model.graph();
  std::unordered_set<std::string> initialised;
  for (const TensorProto& tensor : graph.initializer()) initialised.insert(tensor.name());
  for (const auto& sparse : graph.sparse_initializer()) initialised.insert(sparse.values().name());
  std::vector<SizedInput> inputs;
  for (const auto& input : graph.input()) {
    if (initialised.contains(input.name())) continue;
    SizedInput sized;
    sized.name = input.name();
    const auto& type = input.type();
    if (type.has_tensor_type()) {
      sized.dtype = fromOnnxType(type.tensor_type().elem_type());
      const auto& dims = type.tensor_type().shape().dim();
      sized.ranked = type.tensor_type().has_shape() && dims.size() <= kMostAxes;
      for (const auto& dim : dims) {
        if (!sized.ranked) break;
        const bool fixed = dim.has_dim_value() && dim.dim_value() > 0;
        if (!fixed) sized.freeAxes.push_back(static_cast<int>(sized.shape.size()));
        sized.shape.push_back(fixed ? dim.dim_value() : 0);
        sized.names.push_back(fixed ? "" : dim.dim_param());
      }
    }
    inputs.push_back(std::move(sized));
  }
  Sizes sizes(sharing, one);
  // Sums last: they stand for others.
  for (const bool sums : {false, true}) {
    for (SizedInput& input : inputs) {
      for (const int axis : input.freeAxes) {
        const auto at = static_cast<size_t>(axis);
        const bool isSum = input.names[at].find('+') != std::string::npos;
        if (isSum == sums) input.shape[at] = sizes.sizeOf(input.names[at], at, input.shape.size(), input.dtype);
      }
    }
  }
  for (SizedInput& input : inputs) {
    const auto isOne = [&](int axis) { return input.shape[static_cast<size_t>(axis)] == 1; };
    input.one = std::erase_if(input.freeAxes, isOne) > 0;
  }
  return inputs;
}

const graph::TensorView* inputFor(const Tensors& inputs, const std::string& name, size_t position) {
  const auto named = [&](const std::string& wanted) {
    return std::ranges::find(inputs, wanted,
                             [](const NamedTensor& tensor) -> const std::string& { return tensor.name; });
  };
  for (const std::string& wanted : {name, "in_" + std::to_string(position)}) {
    if (const auto found = named(wanted); found != inputs.end()) return &found->view;
  }
  return position < inputs.size() ? &inputs[position].view : nullptr;
}

}  // namespace normlens::formats::onnx
