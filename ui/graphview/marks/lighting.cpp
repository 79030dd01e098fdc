#include "ui/graphview/marks/lighting.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace normlens::graphview {
namespace {

using layout::Hierarchy;

// A closed one-op group that holds several vertices takes the letter that comes first here.
constexpr std::string_view kRank = "NAOLZRS";

char stronger(char a, char b) {
  const auto rank = [](char c) { return std::min(kRank.find(c), kRank.size()); };
  return a != 0 && rank(a) <= rank(b) ? a : b;
}

int normItem(const Hierarchy& hierarchy, const protocol::ZeroMeanGraph& graph, const std::vector<int>& blockerPath) {
  for (const auto& vertex : graph.vertices) {
    if (vertex.vertex_class == NodeClass::LayerNorm) return hierarchy.itemOfId(vertex.node);
  }
  return blockerPath.empty() ? -1 : hierarchy.itemOfId(blockerPath.front());
}

// Groups above an item that hide it, outermost first. A closed one-op group shows its op well enough.
std::vector<int> hiders(const Hierarchy& hierarchy, int item, const layout::GroupSet& open) {
  std::vector<int> groups;
  for (int group = item < 0 ? -1 : hierarchy.item(item).parent; group > 0; group = hierarchy.item(group).parent) {
    if (!hierarchy.item(group).slim && !open.contains(group)) groups.push_back(group);
  }
  std::reverse(groups.begin(), groups.end());
  return groups;
}

}  // namespace

layout::GroupSet groupsToOpen(const Hierarchy& hierarchy, const layout::GroupSet& open,
                              const protocol::ZeroMeanGraph& graph, const std::vector<int>& blockerPath) {
  constexpr size_t kMoreBoxes = 36;
  layout::GroupSet all = open, added;
  const auto add = [&](const std::vector<int>& groups) {
    for (const int group : groups) {
      all.insert(group);
      added.insert(group);
    }
  };
  const int norm = normItem(hierarchy, graph, blockerPath);
  if (norm < 0) return added;
  add(hiders(hierarchy, norm, all));
  if (!blockerPath.empty()) add(hiders(hierarchy, hierarchy.itemOfId(blockerPath.back()), all));
  const int block = hierarchy.item(norm).parent;
  std::vector<int> near;
  for (const auto& vertex : graph.vertices) {
    const int item = hierarchy.itemOfId(vertex.node);
    if (item >= 0 && hierarchy.contains(block, item)) near.push_back(item);
  }
  std::sort(near.begin(), near.end(), [norm](int a, int b) { return std::abs(a - norm) < std::abs(b - norm); });
  size_t boxes = 0;
  for (const int item : near) {
    const std::vector<int> groups = hiders(hierarchy, item, all);
    for (const int group : groups) boxes += hierarchy.item(group).children.size();
    if (boxes > kMoreBoxes) break;
    add(groups);
  }
  return added;
}

Lighting::Lighting(const Scene& scene, const protocol::ZeroMeanGraph& graph, const std::vector<int>& blockerPath) {
  if (scene.layout == nullptr) return;
  active_ = true;
  boxes_.resize(scene.layout->boxes.size());
  edges_.resize(scene.layout->edges.size(), LitEdge::Dark);
  lightBoxes(scene, graph);
  lightPath(scene, blockerPath);
  lightEdges(scene, graph, blockerPath);
  lightStreamParts(scene);
  measure(scene);
}

void Lighting::lightBoxes(const Scene& scene, const protocol::ZeroMeanGraph& graph) {
  for (const auto& vertex : graph.vertices) {
    const int item = scene.hierarchy->itemOfId(vertex.node);
    if (item < 0) continue;
    const char letter = letterOf(vertex.vertex_class);
    letterOfItem_[item] = letter;
    if (!vertex.note.empty()) notes_[item] = vertex.note;
    const int index = scene.boxOf(item);
    if (index < 0) continue;
    BoxLight& light = boxes_[static_cast<size_t>(index)];
    light.lit = true;
    light.letter = stronger(light.letter, letter);
    ++light.inside[letter];
    if (letter == 'N') {
      light.chosen = scene.box(index).kind != layout::BoxKind::Card;
      chosenBox_ = index;
    }
  }
}

void Lighting::lightPath(const Scene& scene, const std::vector<int>& blockerPath) {
  for (const int node : blockerPath) {
    const int item = scene.hierarchy->itemOfId(node);
    const int index = scene.boxOf(item);
    if (index < 0) continue;
    BoxLight& light = boxes_[static_cast<size_t>(index)];
    light.lit = true;
    if (light.letter == 0) {
      light.letter = 'O';
      ++light.inside['O'];
    }
    if (node == blockerPath.back() && index != chosenBox_) {
      if (const auto note = notes_.find(item); note != notes_.end()) blockerNote_ = note->second;
      light.blocker = true;
      light.letter = 'O';
      blockerBox_ = index;
    }
  }
}

void Lighting::lightEdges(const Scene& scene, const protocol::ZeroMeanGraph& graph,
                          const std::vector<int>& blockerPath) {
  const std::unordered_set<int> values(graph.values.begin(), graph.values.end());
  std::set<std::pair<int, int>> path;
  for (size_t i = 1; i < blockerPath.size(); ++i) {
    path.emplace(scene.hierarchy->itemOfId(blockerPath[i]), scene.hierarchy->itemOfId(blockerPath[i - 1]));
  }
  const auto lightOf = [&](const layout::DataEdge& edge, bool stream) {
    if (path.contains({edge.from, edge.to})) return LitEdge::Blocker;
    const auto from = letterOfItem_.find(edge.from), to = letterOfItem_.find(edge.to);
    if (from == letterOfItem_.end() || to == letterOfItem_.end() || edge.value < 0) return LitEdge::Dark;
    if (!values.empty() && !values.contains(scene.hierarchy->document->values[static_cast<size_t>(edge.value)].id))
      return LitEdge::Dark;
    if (stream) return LitEdge::Stream;
    if (to->second == 'N') return LitEdge::IntoNorm;
    return QByteArrayView("LSB").contains(from->second) ? LitEdge::Linear : LitEdge::Other;
  };
  for (size_t i = 0; i < edges_.size(); ++i) {
    for (const layout::DataEdge& data : scene.dataOf(static_cast<int>(i))) {
      const LitEdge light = lightOf(data, scene.layout->edges[i].stream);
      if (edges_[i] == LitEdge::Dark || light == LitEdge::Blocker) edges_[i] = light;
    }
  }
}

// A branch that leaves the stream half-way: the stream, a straight line, is lit as far as there.
void Lighting::lightStreamParts(const Scene& scene) {
  const auto& layout = *scene.layout;
  for (size_t i = 0; i < edges_.size(); ++i) {
    if (edges_[i] == LitEdge::Dark || layout.edges[i].stream) continue;
    const QPointF start = scene.startOf(layout.edges[i]);
    for (size_t s = 0; s < edges_.size(); ++s) {
      const layout::Edge& stream = layout.edges[s];
      if (!stream.stream || edges_[s] != LitEdge::Dark || !stream.bounds.contains(start)) continue;
      const QPointF away = scene.startOf(stream) - start;
      if (std::abs(scene.runsDown() ? away.x() : away.y()) <= 1) parts_.push_back({static_cast<int>(s), start});
    }
  }
}

void Lighting::measure(const Scene& scene) {
  const auto around = [&](int index) {
    const layout::Box& box = scene.box(index);
    return box.frame >= 0 ? scene.box(box.frame).rect : box.rect;
  };
  if (chosenBox_ >= 0) {
    nearBounds_ = around(chosenBox_);
    focus_ = scene.box(chosenBox_).rect.center();
  }
  if (blockerBox_ >= 0) nearBounds_ = nearBounds_.united(scene.box(blockerBox_).rect);
}

}  // namespace normlens::graphview
