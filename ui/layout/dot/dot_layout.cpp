#include "ui/layout/dot/dot_layout.h"

#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>

#include <QByteArray>
#include <QString>
#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <numeric>

// The plugin with dot, which is linked: gvContext() would look for plugins in a folder that was chosen when Graphviz
// was built.
extern "C" gvplugin_library_t gvplugin_dot_layout_LTX_library;  // NOLINT(readability-identifier-naming)

namespace normlens::layout {
namespace {

constexpr double kPointsPerInch = 72;
constexpr double kMaxTable = 60000;  // HTML-like tables keep their sizes in 16 bits
constexpr size_t kManyBoxes = 250;   // from here on dot's optimizers are given less time

int silent(char*) { return 0; }

QByteArray number(double value) { return QByteArray::number(value, 'f', 4); }
QByteArray inches(double pixels) { return number(pixels / kPointsPerInch); }

void setAttribute(void* object, const char* name, const QByteArray& value) {
  agsafeset(object, const_cast<char*>(name), const_cast<char*>(value.constData()), const_cast<char*>(""));
}

// A row of fixed cells with a 2 px port cell centered on each x.
QByteArray portRow(const std::vector<double>& ports, char prefix, double width) {
  QByteArray row = R"(<TR><TD><TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>)";
  int at = 0;
  const auto cell = [&row](int cellWidth, const QByteArray& port) {
    if (cellWidth <= 0) return;
    row += R"(<TD FIXEDSIZE="TRUE" HEIGHT="1" WIDTH=")" + QByteArray::number(cellWidth) + '"' + port + "></TD>";
  };
  std::vector<size_t> order(ports.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return ports[i]; });
  for (const size_t i : order) {
    const int left = std::clamp(static_cast<int>(std::lround(ports[i])) - 1, at, static_cast<int>(width) - 2);
    cell(left - at, {});
    cell(2, " PORT=\"" + QByteArray(1, prefix) + QByteArray::number(static_cast<int>(i)) + "\"");
    at = left + 2;
  }
  cell(static_cast<int>(width) - at, {});
  return row + "</TR></TABLE></TD></TR>";
}

QByteArray tableLabel(const DotBox& box) {
  const QByteArray w = QByteArray::number(static_cast<int>(box.width));
  const QByteArray h = QByteArray::number(static_cast<int>(box.height));
  const QByteArray middle = QByteArray::number(static_cast<int>(box.height) - 2);
  return R"(<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" FIXEDSIZE="TRUE" WIDTH=")" + w +
         R"(" HEIGHT=")" + h + "\">" + portRow(box.topPorts, 't', box.width) + R"(<TR><TD FIXEDSIZE="TRUE" WIDTH=")" +
         w + R"(" HEIGHT=")" + middle + R"("></TD></TR>)" + portRow(box.bottomPorts, 'b', box.width) + "</TABLE>";
}

bool usesTable(const DotBox& box) {
  return (!box.topPorts.empty() || !box.bottomPorts.empty()) && box.width < kMaxTable && box.height < kMaxTable &&
         box.width >= 4 && box.height >= 4;
}

class DotRun {
 public:
  explicit DotRun(const DotGraph& input) : input_(input), graph_(agopen(const_cast<char*>("g"), Agdirected, nullptr)) {}
  ~DotRun() { agclose(graph_); }
  DotRun(const DotRun&) = delete;
  DotRun& operator=(const DotRun&) = delete;

  Result<DotDrawing> run(GVC_t* context) {
    declare();
    for (const DotBox& box : input_.boxes) addBox(box);
    for (const DotEdge& edge : input_.edges) addEdge(edge);
    pin(input_.sources, "source");
    pin(input_.sinks, "sink");
    if (gvLayout(context, graph_, "dot") != 0) {
      return fail(ErrorCode::Internal, "Graphviz could not lay out this group", "close the group, or update Graphviz");
    }
    DotDrawing drawing = read();
    gvFreeLayout(context, graph_);
    return drawing;
  }

 private:
  void graphAttribute(const char* name, const QByteArray& value) {
    agattr(graph_, AGRAPH, const_cast<char*>(name), const_cast<char*>(value.constData()));
  }

  void declare() {
    graphAttribute("rankdir", "TB");
    // Not for its ranks, which are the same: dot's older ranking leaves marks in the nodes that its next step takes for
    // its own in the 128th layout of a process, and crashes (one byte counts the layouts).
    graphAttribute("newrank", "true");
    graphAttribute("nodesep", inches(input_.nodeGap));
    graphAttribute("ranksep", inches(input_.rankGap));
    graphAttribute("splines", input_.boxes.size() > 2 * kManyBoxes ? "polyline" : "spline");
    if (input_.boxes.size() > kManyBoxes) {
      graphAttribute("nslimit", "4");
      graphAttribute("mclimit", "0.4");
    }
    const auto node = [this](const char* name, const char* value) {
      agattr(graph_, AGNODE, const_cast<char*>(name), const_cast<char*>(value));
    };
    node("shape", "box");
    node("fixedsize", "true");
    node("label", "");
    agattr(graph_, AGEDGE, const_cast<char*>("arrowhead"), const_cast<char*>("none"));
  }

  void addBox(const DotBox& box) {
    Agnode_t* node = agnode(graph_, nullptr, 1);
    setAttribute(node, "width", inches(box.width));
    setAttribute(node, "height", inches(box.height));
    if (box.circle) setAttribute(node, "shape", "circle");
    if (box.stream) setAttribute(node, "group", "stream");
    if (usesTable(box)) {
      setAttribute(node, "shape", "none");
      setAttribute(node, "margin", "0");
      setAttribute(node, "fixedsize", "false");
      char* html = agstrdup_html(graph_, const_cast<char*>(tableLabel(box).constData()));
      agset(node, const_cast<char*>("label"), html);
      agstrfree(graph_, html);
    }
    nodes_.push_back(node);
  }

  void addEdge(const DotEdge& edge) {
    if (edge.routed) {
      edges_.push_back(nullptr);
      return;
    }
    Agedge_t* e = agedge(graph_, node(edge.from), node(edge.to), nullptr, 1);
    setAttribute(e, "tailport", port(edge.from, edge.fromPort, 'b', edge.stream));
    setAttribute(e, "headport", port(edge.to, edge.toPort, 't', edge.stream));
    if (edge.stream || edge.chain || edge.guide) setAttribute(e, "weight", edge.stream ? "100" : "10");
    if (edge.order) setAttribute(e, "weight", "0");
    if (edge.guide || edge.order) setAttribute(e, "style", "invis");
    edges_.push_back(e);
  }

  [[nodiscard]] QByteArray port(int box, int index, char prefix, bool stream) const {
    const char side = prefix == 'b' ? 's' : 'n';
    if (index >= 0 && usesTable(input_.boxes[static_cast<size_t>(box)])) {
      return QByteArray(1, prefix) + QByteArray::number(index) + ":" + QByteArray(1, side);
    }
    return index >= 0 || stream ? QByteArray(1, side) : QByteArray();
  }

  void pin(const std::vector<int>& boxes, const char* rank) {
    if (boxes.empty()) return;
    Agraph_t* group = agsubg(graph_, const_cast<char*>(rank), 1);
    setAttribute(group, "rank", rank);
    for (const int box : boxes) agsubnode(group, node(box), 1);
  }

  [[nodiscard]] Agnode_t* node(int index) const { return nodes_[static_cast<size_t>(index)]; }

  [[nodiscard]] DotDrawing read() const {
    DotDrawing drawing;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const pointf center = ND_coord(nodes_[i]);
      const DotBox& box = input_.boxes[i];
      drawing.boxes.emplace_back(center.x - box.width / 2, -center.y - box.height / 2, box.width, box.height);
      drawing.bounds = drawing.bounds.united(drawing.boxes.back());
    }
    for (size_t i = 0; i < edges_.size(); ++i) drawing.curves.push_back(curve(i, drawing));
    for (size_t i = 0; i < edges_.size(); ++i) {
      if (!input_.edges[i].hasCurve()) continue;
      for (const QPointF& p : drawing.curves[i]) grow(drawing.bounds, p);
    }
    shift(drawing);
    return drawing;
  }

  static void grow(QRectF& bounds, const QPointF& p) {
    bounds.setLeft(std::min(bounds.left(), p.x()));
    bounds.setRight(std::max(bounds.right(), p.x()));
    bounds.setTop(std::min(bounds.top(), p.y()));
    bounds.setBottom(std::max(bounds.bottom(), p.y()));
  }

  [[nodiscard]] std::vector<QPointF> curve(size_t index, const DotDrawing& drawing) const {
    std::vector<QPointF> points;
    const splines* spline = edges_[index] == nullptr ? nullptr : ED_spl(edges_[index]);
    for (int k = 0; spline != nullptr && k < spline->size; ++k) {
      const bezier& part = spline->list[k];
      // A curve in parts shares its joints; the joint is kept once.
      for (int p = points.empty() ? 0 : 1; p < part.size; ++p) points.emplace_back(part.list[p].x, -part.list[p].y);
    }
    if (points.size() < 4 || points.size() % 3 != 1) {
      const DotEdge& edge = input_.edges[index];
      const QRectF& from = drawing.boxes[static_cast<size_t>(edge.from)];
      const QRectF& to = drawing.boxes[static_cast<size_t>(edge.to)];
      const QPointF a(from.center().x(), from.bottom()), b(to.center().x(), to.top());
      points = {a, a + (b - a) / 3, a + (b - a) * 2 / 3, b};
    }
    // Graphviz turns an edge that runs against the ranks around; ours run from producer to consumer.
    const QPointF tail = drawing.boxes[static_cast<size_t>(input_.edges[index].from)].center();
    const QPointF head = drawing.boxes[static_cast<size_t>(input_.edges[index].to)].center();
    const double forward = QPointF::dotProduct(points.back() - points.front(), head - tail);
    if (forward < 0) std::reverse(points.begin(), points.end());
    attach(points, input_.edges[index], drawing);
    return points;
  }

  // Moves the ends of the curve to the edge's ports, which dot has missed at a box too big for a table.
  void attach(std::vector<QPointF>& points, const DotEdge& edge, const DotDrawing& drawing) const {
    const auto place = [&](int box, int port, bool top) {
      const DotBox& input = input_.boxes[static_cast<size_t>(box)];
      const QRectF& rect = drawing.boxes[static_cast<size_t>(box)];
      const auto& ports = top ? input.topPorts : input.bottomPorts;
      return QPointF(rect.left() + ports[static_cast<size_t>(port)], top ? rect.top() : rect.bottom());
    };
    const size_t last = points.size() - 1;
    if (edge.fromPort >= 0) {
      points[1] += place(edge.from, edge.fromPort, false) - points[0];
      points[0] = place(edge.from, edge.fromPort, false);
    }
    if (edge.toPort >= 0) {
      points[last - 1] += place(edge.to, edge.toPort, true) - points[last];
      points[last] = place(edge.to, edge.toPort, true);
    }
  }

  static void shift(DotDrawing& drawing) {
    const QPointF origin = drawing.bounds.topLeft();
    for (QRectF& rect : drawing.boxes) rect.translate(-origin);
    for (auto& points : drawing.curves) {
      for (QPointF& p : points) p -= origin;
    }
    drawing.bounds.translate(-origin);
  }

  const DotGraph& input_;
  Agraph_t* graph_ = nullptr;  // Owned.
  std::vector<Agnode_t*> nodes_;
  std::vector<Agedge_t*> edges_;
};

// The one that Graphviz may have in a process.
GVC_t* theContext() {
  static GVC_t* const context = [] {
    // gvLayout switches LC_NUMERIC around its work for the whole process; with "C" throughout nothing can change.
    std::setlocale(LC_NUMERIC, "C");
    agseterrf(silent);
    static std::array<lt_symlist_t, 2> plugins{
        {{"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library}, {nullptr, nullptr}}};
    return gvContextPlugins(plugins.data(), /*demand_loading=*/0);
  }();
  return context;
}

}  // namespace

Status prepareDot() {
  if (theContext() == nullptr) return fail(ErrorCode::Internal, "Graphviz could not be started", "reinstall graphviz");
  return {};
}

Result<DotDrawing> runDot(const DotGraph& graph) {
  if (graph.boxes.empty()) return DotDrawing{};
  RETURN_IF_ERROR(prepareDot());
  return DotRun(graph).run(theContext());
}

}  // namespace normlens::layout
