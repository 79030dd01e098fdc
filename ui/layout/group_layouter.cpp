#include "ui/layout/group_layouter.h"

#include <algorithm>
#include <utility>

namespace normlens::layout {
namespace {

// Puts the groups' insides together to one picture.
class Assembler {
 public:
  Assembler(const Hierarchy& hierarchy, const VisibleGraph& graph, const std::vector<LocalInput>& inputs,
            const std::vector<std::shared_ptr<const LocalLayout>>& locals)
      : graph_(graph), inputs_(inputs), locals_(locals) {
    layout_.boxOfItem.assign(hierarchy.items.size(), kNone);
  }

  Layout take() {
    place(0, {0, 0}, kNone);
    layout_.bounds = QRectF(QPointF(0, 0), locals_[0]->size);
    return std::move(layout_);
  }

 private:
  void place(size_t group, const QPointF& origin, int frame) {
    const LocalInput& input = inputs_[group];
    const LocalLayout& local = *locals_[group];
    std::vector<bool> onStream(input.boxes.size(), false);
    for (size_t i = 0; i < input.graph.edges.size(); ++i)
      addEdge(input.graph.edges[i], local.curves[i], origin, onStream);
    for (size_t i = 0; i < input.boxes.size(); ++i) {
      const int item = input.graph.boxes[i];
      Box box{local.boxes[i].translated(origin), item, frame, input.boxes[i].kind, onStream[i], 0, false};
      const int index = static_cast<int>(layout_.boxes.size());
      layout_.boxOfItem[static_cast<size_t>(item)] = index;
      const bool open = box.kind == BoxKind::Frame;
      const size_t inner = open ? static_cast<size_t>(graph_.indexOfGroup.at(item)) : 0;
      if (open) box.titleX = locals_[inner]->titleX, box.titleShort = locals_[inner]->titleShort;
      const QPointF corner = box.rect.topLeft();
      layout_.boxes.push_back(box);
      if (open) place(inner, corner, index);
    }
  }

  void addEdge(const LocalEdge& source, const std::vector<QPointF>& curve, const QPointF& origin,
               std::vector<bool>& onStream) {
    Edge edge;
    edge.firstPoint = static_cast<int>(layout_.points.size());
    edge.pointCount = static_cast<int>(curve.size());
    edge.firstData = static_cast<int>(layout_.edgeData.size());
    edge.dataCount = static_cast<int>(source.data.size());
    edge.stream = source.stream;
    edge.bridge = source.bridge;
    edge.arrow = source.to.kind == EndpointKind::Box && source.to.port == kNone;
    layout_.edgeData.insert(layout_.edgeData.end(), source.data.begin(), source.data.end());
    double left = 1e300, top = 1e300, right = -1e300, bottom = -1e300;
    for (const QPointF& local : curve) {
      const QPointF p = local + origin;
      layout_.points.push_back(p);
      left = std::min(left, p.x()), right = std::max(right, p.x());
      top = std::min(top, p.y()), bottom = std::max(bottom, p.y());
    }
    edge.bounds = QRectF(QPointF(left, top), QPointF(right, bottom)).adjusted(-4, -4, 4, 4);
    layout_.edges.push_back(edge);
    for (const Endpoint* end : {&source.from, &source.to}) {
      if (source.stream && end->kind == EndpointKind::Box) onStream[static_cast<size_t>(end->box)] = true;
    }
  }

  const VisibleGraph& graph_;
  const std::vector<LocalInput>& inputs_;
  const std::vector<std::shared_ptr<const LocalLayout>>& locals_;
  Layout layout_;
};

// The boxes that a stream edge ends at are a little taller.
void raiseStreamNodes(LocalInput& input) {
  for (const LocalEdge& edge : input.graph.edges) {
    for (const Endpoint* end : {&edge.from, &edge.to}) {
      if (!edge.stream || end->kind != EndpointKind::Box) continue;
      QSizeF& size = input.boxes[static_cast<size_t>(end->box)].size;
      double& height = input.sideways ? size.rwidth() : size.rheight();
      if (height == kNodeHeight) height = kStreamNodeHeight;
    }
  }
}

QPointF turned(const QPointF& p) { return {p.y(), p.x()}; }
QRectF turned(const QRectF& r) { return {r.y(), r.x(), r.height(), r.width()}; }

// Mirrors the layout over its diagonal: what ran down runs to the right.
void turn(Layout& layout) {
  for (Box& box : layout.boxes) box.rect = turned(box.rect);
  for (Edge& edge : layout.edges) edge.bounds = turned(edge.bounds);
  for (QPointF& p : layout.points) p = turned(p);
  layout.bounds = turned(layout.bounds);
  layout.direction = Direction::Right;
}

LocalInput inputFor(const Hierarchy& hierarchy, const LocalGraph& graph, BoxMetrics& metrics, const VisibleGraph& all,
                    const std::vector<std::shared_ptr<const LocalLayout>>& locals, Direction direction) {
  LocalInput input;
  input.sideways = direction == Direction::Right;
  input.graph = graph;
  input.isModel = graph.group == 0;
  if (!input.isModel) {
    input.titleWidth = metrics.titleWidth(hierarchy, graph.group, true);
    input.shortTitleWidth = metrics.titleWidth(hierarchy, graph.group, false);
  }
  for (const int item : graph.boxes) {
    const auto open = all.indexOfGroup.find(item);
    if (open == all.indexOfGroup.end()) {
      const QSizeF size = metrics.closedSize(hierarchy, item);
      input.boxes.push_back({closedKind(hierarchy, item), input.sideways ? size.transposed() : size, {}, {}});
    } else {
      const LocalLayout& inner = *locals[static_cast<size_t>(open->second)];
      input.boxes.push_back({BoxKind::Frame, inner.size, inner.inPorts, inner.outPorts});
    }
  }
  raiseStreamNodes(input);
  return input;
}

}  // namespace

Result<DotDrawing> GroupLayouter::runDot(const DotGraph& graph, const Task& task) {
  if (failures_ >= kMostFailures) return fail(ErrorCode::Internal, "Graphviz took too long for other groups");
  ++dotRuns_;
  largestDotRun_ = std::max(largestDotRun_, graph.boxes.size() + graph.edges.size());
  Result<DotDrawing> drawing = dot_.run(graph, task.stop);
  if (!drawing) ++failures_;
  return drawing;
}

Result<GroupLayouter::Known> GroupLayouter::local(const LocalInput& input, const Task& task) {
  const QByteArray key = layoutKey(input);
  if (const Known* found = known_.object(key)) return *found;
  Result<LocalLayout> made = layOutGroup(input, [&](const DotGraph& graph) { return runDot(graph, task); });
  if (!made) return tl::unexpected(made.error());
  ++runs_;
  auto known = std::make_shared<const LocalLayout>(std::move(*made));
  known_.insert(key, new Known(known));  // Owned.
  return known;
}

Result<Layout> GroupLayouter::layOut(const Hierarchy& hierarchy, const GroupSet& expanded, const Task& task,
                                     Direction direction) {
  failures_ = 0;
  const VisibleGraph graph = visibleGraph(hierarchy, expanded);
  std::vector<LocalInput> inputs(graph.groups.size());
  std::vector<Known> locals(graph.groups.size());
  for (size_t i = graph.groups.size(); i-- > 0;) {  // children come after their parents
    RETURN_IF_ERROR(task.check());
    const double done = static_cast<double>(graph.groups.size() - i) / static_cast<double>(graph.groups.size());
    task.report("Laying out " + hierarchy.item(graph.groups[i].group).title, done);
    inputs[i] = inputFor(hierarchy, graph.groups[i], metrics_, graph, locals, direction);
    Result<Known> made = local(inputs[i], task);
    if (!made) return tl::unexpected(made.error());
    locals[i] = std::move(*made);
  }
  Layout layout = Assembler(hierarchy, graph, inputs, locals).take();
  if (direction == Direction::Right) turn(layout);
  return layout;
}

}  // namespace normlens::layout
