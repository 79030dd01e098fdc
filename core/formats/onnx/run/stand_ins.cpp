#include "core/formats/onnx/run/stand_ins.h"
#include "core/formats/onnx/source/bodies.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

using Names = std::unordered_set<std::string>;

constexpr int64_t kSmallest = 64 << 10;  // bytes; smaller ones are not worth a difference

Names largeFloats(const OnnxSource& source) {
  Names names;
  for (const auto& [name, weight] : *source.weights) {
    if (isLargeFloat(weight.view)) names.insert(name);
  }
  return names;
}

}  // namespace

bool sizeFollowsNumbers(std::string_view op) {
  static constexpr std::array<std::string_view, 8> kOps = {"NonZero", "Unique", "NonMaxSuppression", "Compress",
                                                           "Resize",  "Range",  "Upsample",          "OneHot"};
  return std::ranges::find(kOps, op) != kOps.end();
}

bool isKnownFloat(const KnownTypes& types, const std::string& name) {
  const auto found = types.find(name);
  return found != types.end() && graph::isFloat(found->second.dtype);
}

bool isLargeFloat(const graph::TensorView& weight) {
  return graph::isFloat(weight.dtype) && graph::byteCount(weight) >= kSmallest;
}

Names weightsOnlyForShape(const OnnxSource& source, const KnownTypes& types) {
  Names weights = largeFloats(source);
  if (weights.empty() || source.skeleton->functions_size() > 0) return {};
  Names computed;  // from the weights' numbers
  const auto hangsOnThem = [&](const std::string& name) { return computed.contains(name) || weights.contains(name); };
  for (const NodeProto& node : source.skeleton->graph().node()) {
    // Bodies may read anything by its name.
    if (holdsBody(node)) return {};
    if (std::ranges::none_of(node.input(), hangsOnThem)) continue;
    if (node.op_type() == "Shape" || node.op_type() == "Size") continue;
    if (sizeFollowsNumbers(node.op_type())) return {};
    const bool floatsOnly = std::ranges::all_of(node.input(), [&](const std::string& name) {
      return !hangsOnThem(name) || weights.contains(name) || isKnownFloat(types, name);
    });
    if (!floatsOnly) return {};
    computed.insert(node.output().begin(), node.output().end());
  }
  return weights;
}

std::shared_ptr<const std::byte> zeros(size_t bytes) {
  const size_t size = std::max<size_t>(bytes, 1);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  return {static_cast<const std::byte*>(data), [data, size](const std::byte*) { ::munmap(data, size); }};
}

graph::TensorView standIn(graph::DType dtype, const graph::Shape& shape,
                          const std::shared_ptr<const std::byte>& zeros) {
  return {zeros.get(), dtype, shape, denseStrides(shape), zeros};
}

}  // namespace normlens::formats::onnx
