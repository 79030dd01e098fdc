#include "core/service/describe/weight_digests.h"

#include "core/formats/file/sha256.h"
#include "core/run/tensor_parts.h"
#include "core/run/tensors.h"

namespace normlens::service {
namespace {

constexpr int64_t kElementsAtATime = int64_t{1} << 20;

// Row-major, whatever the strides. Empty for a tensor whose elements have no bytes of their own.
Result<std::string> digestOf(const graph::TensorView& view, const Task& task) {
  std::string parts;
  bool readable = view.data != nullptr;
  const auto status = run::forEachPart(view, kElementsAtATime, [&](int64_t, const graph::TensorView& part) -> Status {
    if (auto stopped = task.check(); !stopped) return stopped;
    const auto bytes = run::denseBytes(part);
    readable = readable && bytes.has_value();
    if (bytes) parts += formats::sha256Hex(*bytes);
    return {};
  });
  if (!status) return tl::unexpected(status.error());
  if (!readable) return std::string();
  std::string text(graph::dtypeName(view.dtype));
  for (const int64_t size : view.shape) text += ' ' + std::to_string(size);
  text += parts;
  return formats::sha256Hex(std::as_bytes(std::span(text)));
}

}  // namespace

Result<protocol::WeightDigests> weightDigests(const graph::Graph& graph, const Task& task) {
  protocol::WeightDigests digests;
  std::vector<std::string> known(graph.constants.size());  // by constant: several values may be one
  std::vector<bool> done(graph.constants.size(), false);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].constant == graph::kNone) continue;
    task.report("reading the weights", static_cast<double>(v) / static_cast<double>(graph.values.size()));
    const auto constant = static_cast<size_t>(graph.values[v].constant);
    if (!done[constant]) {
      auto digest = digestOf(graph.constants[constant].view, task);
      if (!digest) return tl::unexpected(digest.error());
      known[constant] = std::move(*digest);
      done[constant] = true;
    }
    if (known[constant].empty()) continue;
    digests.values.push_back(static_cast<int>(v));
    digests.digests.push_back(known[constant]);
  }
  return digests;
}

}  // namespace normlens::service
