#include "core/formats/onnx/read/function_calls.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/onnx/lower/lowering.h"
#include "core/formats/onnx/read/bodies.h"
#include "core/formats/onnx/read/names.h"

namespace normlens::formats::onnx {
namespace {

// Each level can call the next one many times.
constexpr uint64_t kMostInlinedNodes = 250'000;

tl::unexpected<Error> refused(std::string message, ErrorCode code = ErrorCode::Unreadable) {
  return fail(code, std::move(message), "export the model again");
}

class Calls {
 public:
  explicit Calls(const ModelProto& model) : model_(model) {
    for (const FunctionProto& function : model.functions())
      functions_.emplace(functionKey(function.domain(), function.name(), function.overload()), &function);
  }

  // Calls between functions, as a depth-first search without recursion of our own.
  Status check() {
    std::map<const FunctionProto*, int> state;  // 1: on the path, 2: done
    for (const FunctionProto& start : model_.functions()) {
      std::vector<std::pair<const FunctionProto*, bool>> stack{{&start, false}};
      while (!stack.empty()) {
        const auto [function, leaving] = stack.back();
        stack.pop_back();
        if (leaving) {
          state[function] = 2;
          writtenOut_[function] = ownNodes(function->node()) + calledNodes(function->node());
          continue;
        }
        if (state[function] == 2) continue;
        if (state[function] == 1) return refused("function " + quotedName(function->name()) + " calls itself");
        state[function] = 1;
        stack.emplace_back(function, true);
        std::set<const FunctionProto*> callees;
        calls(function->node(), callees);
        for (const FunctionProto* next : callees) {
          if (state[next] == 1) return refused("function " + quotedName(next->name()) + " calls itself");
          stack.emplace_back(next, false);
        }
      }
    }
    if (!functions_.empty() && calledNodes(model_.graph().node()) > kMostInlinedNodes)
      return refused("calls functions that come to more than " + std::to_string(kMostInlinedNodes) +
                         " nodes once they are written out",
                     ErrorCode::Unsupported);
    return {};
  }

 private:
  template <class Nodes>
  static uint64_t ownNodes(const Nodes& list) {
    uint64_t count = 0;
    eachNode(list, [&](const NodeProto&) { ++count; });
    return count;
  }

  // Nodes of the functions that are called here, and of those that these call; counts no further than one too many.
  template <class Nodes>
  uint64_t calledNodes(const Nodes& list) const {
    uint64_t count = 0;
    eachNode(list, [&](const NodeProto& node) {
      if (const auto* function = called(node)) count += writtenOut_.at(function);
    });
    return std::min<uint64_t>(count, kMostInlinedNodes + 1);
  }

  template <class Nodes>
  void calls(const Nodes& list, std::set<const FunctionProto*>& into) const {
    eachNode(list, [&](const NodeProto& node) {
      if (const auto* function = called(node)) into.insert(function);
    });
  }

  [[nodiscard]] const FunctionProto* called(const NodeProto& node) const {
    const auto found = functions_.find(functionKey(node.domain(), node.op_type(), node.overload()));
    return found == functions_.end() ? nullptr : found->second;
  }

  const ModelProto& model_;
  std::map<std::string, const FunctionProto*> functions_;
  std::map<const FunctionProto*, uint64_t> writtenOut_;  // nodes of a function with all that it calls
};

}  // namespace

Status checkFunctionCalls(const ModelProto& model) { return Calls(model).check(); }

}  // namespace normlens::formats::onnx
