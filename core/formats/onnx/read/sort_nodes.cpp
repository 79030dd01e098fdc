#include "core/formats/onnx/read/sort_nodes.h"
#include "core/formats/onnx/read/bodies.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace normlens::formats::onnx {
namespace {

using ::ONNX_NAMESPACE::AttributeProto;
using Nodes = ::google::protobuf::RepeatedPtrField<NodeProto>;
using Names = std::vector<std::string_view>;

// What a node reads, and what its bodies read of the graphs around them.
void collectReads(const NodeProto& node, Names& reads) {
  reads.insert(reads.end(), node.input().begin(), node.input().end());
  eachBody(node, [&](const GraphProto& body) {
    Names inside;
    for (const NodeProto& inner : body.node()) collectReads(inner, inside);
    for (const auto& output : body.output()) inside.push_back(output.name());
    std::unordered_set<std::string_view> own;
    for (const auto& input : body.input()) own.insert(input.name());
    for (const auto& tensor : body.initializer()) own.insert(tensor.name());
    for (const auto& tensor : body.sparse_initializer()) own.insert(tensor.values().name());
    for (const NodeProto& inner : body.node()) own.insert(inner.output().begin(), inner.output().end());
    std::ranges::copy_if(inside, std::back_inserter(reads), [&](std::string_view name) { return !own.contains(name); });
  });
}

class Order {
 public:
  explicit Order(const Nodes& nodes) : nodes_(nodes), state_(static_cast<size_t>(nodes.size()), State::Open) {
    for (int i = 0; i < nodes.size(); ++i) {
      for (const std::string& output : nodes[i].output()) {
        if (!output.empty()) maker_.try_emplace(output, i);
      }
    }
  }

  // Depth first, without recursion: a file may hold a chain of any length.
  std::vector<int> find() {
    for (int i = 0; i < nodes_.size(); ++i) {
      enter(i);
      while (!open_.empty()) {
        auto& [node, makers] = open_.back();
        if (makers.empty()) {
          state_[static_cast<size_t>(node)] = State::Placed;
          order_.push_back(node);
          open_.pop_back();
          continue;
        }
        const int next = makers.back();
        makers.pop_back();
        enter(next);
      }
    }
    return std::move(order_);
  }

 private:
  enum class State : char { Open, Entered, Placed };

  // One that is entered already is placed, or part of a cycle.
  void enter(int node) {
    if (state_[static_cast<size_t>(node)] != State::Open) return;
    state_[static_cast<size_t>(node)] = State::Entered;
    reads_.clear();
    collectReads(nodes_[node], reads_);
    std::vector<int> makers;
    for (const std::string_view name : reads_) {
      const auto found = maker_.find(name);
      if (found != maker_.end() && state_[static_cast<size_t>(found->second)] == State::Open) {
        makers.push_back(found->second);
      }
    }
    std::ranges::sort(makers, std::greater());  // the file's first comes first
    open_.emplace_back(node, std::move(makers));
  }

  const Nodes& nodes_;
  std::unordered_map<std::string_view, int> maker_;
  std::vector<State> state_;
  std::vector<std::pair<int, std::vector<int>>> open_;  // with the makers that are to be placed before
  std::vector<int> order_;
  Names reads_;
};

bool sortList(Nodes& nodes);

bool sortBodies(NodeProto& node) {
  bool moved = false;
  eachBody(node, [&](GraphProto& body) { moved |= sortList(*body.mutable_node()); });
  return moved;
}

bool sortList(Nodes& nodes) {
  bool moved = false;
  for (NodeProto& node : nodes) moved |= sortBodies(node);
  const std::vector<int> order = Order(nodes).find();
  if (std::ranges::is_sorted(order)) return moved;
  std::vector<NodeProto*> taken(order.size());
  nodes.ExtractSubrange(0, nodes.size(), taken.data());
  for (const int node : order) nodes.AddAllocated(taken[static_cast<size_t>(node)]);
  return true;
}

}  // namespace

bool sortNodes(ModelProto& model) {
  bool moved = model.has_graph() && sortList(*model.mutable_graph()->mutable_node());
  for (auto& function : *model.mutable_functions()) moved |= sortList(*function.mutable_node());
  return moved;
}

}  // namespace normlens::formats::onnx
