// The way of a sum from the add that makes it to the norm that reads it, through calls, tuples and views. Private to
// formats/torchscript: includes torch.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

// One body that the sum passes.
struct BodyOnWay {
  int frame = 0;
  torch::jit::Node* from = nullptr;      // the add, or the call that returns the sum; nullptr: it is an argument
  std::vector<torch::jit::Node*> views;  // of the sum, in order: the same rows in other leading sizes
  torch::jit::Node* to = nullptr;        // the reader, or the call that it is handed to; nullptr: it is returned
};

struct SumWay {
  std::vector<BodyOnWay> bodies;  // from the add's to the reader's
  size_t common = 0;              // which of them calls, over others or not, both the add and the reader
  std::vector<int> passed;        // program nodes that the value goes through, the add among them
};

// The body is that of a method or function which its caller waits for.
[[nodiscard]] bool isPlainCall(const Frame& body);

// ... and the caller may call another method instead: an interface has only its own.
[[nodiscard]] bool mayRename(const Frame& body);

// Returns where the caller of such a body reads what the body has as this parameter.
[[nodiscard]] OperandSite argumentFor(const Frame& body, const torch::jit::Value& parameter);

// Thread: one at a time; the model must outlive it.
class SumTracer {
 public:
  explicit SumTracer(const LoweredModel& model);

  // nullopt where the value is not, on every way there, an add of two tensors out of place with alpha 1.
  [[nodiscard]] std::optional<SumWay> wayTo(const OperandSite& reader) const;
  // kNone: the walk has made no node of it.
  [[nodiscard]] int programNode(int frame, const torch::jit::Node& node) const;

 private:
  struct Origin;
  // Indices into nested tuples, innermost last.
  using Elements = std::vector<size_t>;

  [[nodiscard]] std::optional<Origin> originOf(int frame, torch::jit::Value* value, Elements& elements) const;
  bool passBack(int frame, torch::jit::Value*& value, Elements& elements, Origin& origin) const;
  bool passCall(int body, torch::jit::Value*& value, Elements& elements, Origin& origin) const;
  [[nodiscard]] bool keepsRows(int frame, const torch::jit::Node& view) const;

  const LoweredModel& model_;
  std::map<std::pair<int, const torch::jit::Node*>, int> nodes_;   // by frame
  std::map<std::pair<int, const torch::jit::Node*>, int> bodies_;  // calls, by the caller's frame
};

}  // namespace normlens::formats::torchscript
