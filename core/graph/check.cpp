#include <algorithm>
#include <span>
#include <stdexcept>
#include <unordered_set>

#include "core/graph/debug_check.h"

namespace normlens::graph {
namespace {

class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph), made_(graph.values.size(), false) {}

  Status run() {
    RETURN_IF_ERROR(names());
    RETURN_IF_ERROR(uses());
    for (ValueId id = 0; id < count(graph_.values); ++id) {
      const Value& value = graph_.value(id);
      if (value.constant != kNone || value.literal) made_[static_cast<size_t>(id)] = true;
    }
    return block(0);
  }

 private:
  template <class T>
  static int32_t count(const std::vector<T>& items) {
    return static_cast<int32_t>(items.size());
  }
  static tl::unexpected<Error> broken(std::string message) {
    return fail(ErrorCode::Internal, "graph invariant: " + std::move(message));
  }

  [[nodiscard]] Status names() const {
    std::unordered_set<std::string_view> seen;
    for (const Constant& constant : graph_.constants) {
      if (!seen.insert(constant.name).second) return broken("two constants named " + constant.name);
    }
    seen.clear();
    for (const Value& value : graph_.values) {
      if (!seen.insert(value.name).second) return broken("two values named " + value.name);
    }
    return {};
  }

  // Every recorded use mirrors an operand or return, and the counts agree.
  [[nodiscard]] Status uses() const {
    size_t recorded = 0;
    for (ValueId id = 0; id < count(graph_.values); ++id) {
      for (const Use& use : graph_.value(id).uses) {
        ++recorded;
        std::span<const ValueId> list;
        if (use.node != kNone) {
          if (use.node < 0 || use.node >= count(graph_.nodes)) return broken("use by a node that does not exist");
          list = graph_.node(use.node).operands;
        } else {
          if (use.block < 0 || use.block >= count(graph_.blocks)) return broken("use by a block that does not exist");
          list = graph_.block(use.block).returns;
        }
        const auto at = static_cast<size_t>(use.operand);
        if (at >= list.size() || list[at] != id) return broken("use of " + graph_.value(id).name + " has no operand");
      }
    }
    size_t expected = 0;
    const auto present = [](ValueId id) { return id != kNoValue; };
    for (const Node& node : graph_.nodes) {
      expected += static_cast<size_t>(std::count_if(node.operands.begin(), node.operands.end(), present));
    }
    for (const Block& block : graph_.blocks) {
      expected += static_cast<size_t>(std::count_if(block.returns.begin(), block.returns.end(), present));
    }
    return recorded == expected ? Status{} : broken("operands without a recorded use");
  }

  Status make(ValueId id) {
    if (id < 0 || id >= count(graph_.values)) return broken("value id out of range");
    if (made_[static_cast<size_t>(id)]) return broken(graph_.value(id).name + " is made twice");
    made_[static_cast<size_t>(id)] = true;
    return {};
  }
  [[nodiscard]] Status read(ValueId id, const std::string& where) const {
    if (id == kNoValue) return {};
    if (id < 0 || id >= count(graph_.values)) return broken("operand id out of range in " + where);
    if (!made_[static_cast<size_t>(id)])
      return broken(where + " reads " + graph_.value(id).name + " before it is made");
    return {};
  }

  // Recursion is bounded by the nesting depth of If and Loop in the file.
  Status block(BlockId id) {
    const Block& current = graph_.block(id);
    for (const ValueId param : current.params) {
      RETURN_IF_ERROR(make(param));
    }
    for (const NodeId nodeId : current.nodes) {
      if (nodeId < 0 || nodeId >= count(graph_.nodes)) return broken("node id out of range");
      const Node& node = graph_.node(nodeId);
      if (node.block != id) return broken(node.op + " lies in another block than it says");
      if (node.scope < 0 || node.scope >= count(graph_.scopes)) return broken("scope id out of range");
      for (const ValueId operand : node.operands) {
        RETURN_IF_ERROR(read(operand, node.op));
      }
      for (const BlockId inner : node.blocks) {
        RETURN_IF_ERROR(block(inner));
      }
      for (const ValueId output : node.outputs) {
        RETURN_IF_ERROR(make(output));
      }
    }
    for (const ValueId value : current.returns) {
      RETURN_IF_ERROR(read(value, "a return"));
    }
    return {};
  }

  const Graph& graph_;
  std::vector<bool> made_;
};

}  // namespace

Status checkGraph(const Graph& graph) { return Checker(graph).run(); }

void requireSound(const Graph& graph, const char* maker) {
  if constexpr (kDebugChecks) {
    const Status sound = checkGraph(graph);
    if (!sound) throw std::logic_error(std::string(maker) + " broke its graph: " + sound.error().message);
  }
}

}  // namespace normlens::graph
