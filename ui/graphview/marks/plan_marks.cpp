#include "ui/graphview/marks/plan_marks.h"

#include <map>
#include <set>

namespace normlens::graphview {

namespace {

constexpr double kBehindBox = 15;  // from where the value leaves its box, or beside it; world units

struct EdgeStart {
  QPointF at;
  bool onStream = false;
};

// Returns by value where its edge begins: the edge on the stream before all others, then the first from above.
std::map<int, EdgeStart> startsOf(const Scene& scene, const std::set<int>& values) {
  std::map<int, EdgeStart> starts;
  if (values.empty()) return starts;
  for (int i = 0; i < static_cast<int>(scene.layout->edges.size()); ++i) {
    const layout::Edge& edge = scene.edge(i);
    const QPointF start = scene.startOf(edge);
    for (const layout::DataEdge& data : scene.dataOf(i)) {
      if (!values.contains(data.value)) continue;
      const auto [known, isNew] = starts.try_emplace(data.value, EdgeStart{start, edge.stream});
      const EdgeStart& best = known->second;
      const bool earlier = scene.runsDown() ? start.y() < best.at.y() : start.x() < best.at.x();
      if (!isNew && (edge.stream > best.onStream || (edge.stream == best.onStream && earlier)))
        known->second = {start, edge.stream};
    }
  }
  return starts;
}

}  // namespace

PlanPicture pictureOf(const protocol::PlanInfo& plan, const std::vector<protocol::NormInfo>& norms,
                      const std::vector<ui::PlanMark>& marks) {
  PlanPicture picture;
  for (const protocol::NormInfo& norm : norms) {
    const auto at = static_cast<size_t>(norm.index);
    picture.norms.emplace_back(norm.node, at < marks.size() ? marks[at].state : ui::PlanState::Unknown);
  }
  for (const protocol::EditInfo& edit : plan.edits) {
    if (edit.kind == EditKind::CenterConstant) picture.centered.push_back(edit.node);
    if (edit.kind == EditKind::AbsorbShift) picture.shifted.push_back(edit.node);
    if (edit.kind == EditKind::InsertCentering) picture.centerings.emplace_back(edit.values.front(), edit.node);
  }
  return picture;
}

PlanMarks::PlanMarks(const Scene& scene, const PlanPicture& picture) : active(true), proved(picture.proved) {
  const layout::Hierarchy& hierarchy = *scene.hierarchy;
  for (const auto& [node, state] : picture.norms) {
    const int item = hierarchy.itemOfId(node);
    if (item < 0) continue;
    ofItem[item] = state;
    for (int group = hierarchy.item(item).parent; group >= 0; group = hierarchy.item(group).parent) {
      ++inGroup[group][static_cast<size_t>(state)];
      if (hierarchy.item(group).isOneNorm()) ofItem[group] = state;
    }
  }
  const auto put = [&](const std::vector<int>& nodes, int Pills::*which) {
    for (const int node : nodes) {
      const int item = hierarchy.itemOfId(node);
      if (const int box = item < 0 ? -1 : scene.boxOf(item); box >= 0) ++(ofBox[box].*which);
    }
  };
  put(picture.centered, &Pills::centered);
  put(picture.shifted, &Pills::shifted);
  std::set<int> values;
  for (const auto& [id, node] : picture.centerings) {
    if (const int value = hierarchy.values.of(id); value >= 0) values.insert(value);
  }
  const auto starts = startsOf(scene, values);
  const QPointF behind = scene.runsDown() ? QPointF(0, kBehindBox) : QPointF(kBehindBox, 0);
  for (const auto& [value, start] : starts) centerings.push_back(start.at + behind);
  for (const auto& [id, node] : picture.centerings) {
    const int item = hierarchy.itemOfId(node), box = item < 0 ? -1 : scene.boxOf(item);
    const int value = hierarchy.values.of(id);
    if (box < 0 || value < 0 || !hierarchy.document->values[static_cast<size_t>(value)].constant) continue;
    const QRectF at = scene.box(box).rect;
    centerings.push_back(scene.runsDown() ? QPointF(at.left() - kBehindBox, at.center().y())
                                          : QPointF(at.center().x(), at.top() - kBehindBox));
  }
}

}  // namespace normlens::graphview
