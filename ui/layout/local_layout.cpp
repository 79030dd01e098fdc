#include "ui/layout/local_layout.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "ui/layout/layers/layered_layout.h"
#include "ui/layout/routing.h"

namespace normlens::layout {
namespace {

constexpr double kTitleGap = 8;  // on either side of the title

struct Span {
  double from = 0, to = 0;
};

// Returns the spans in which curves run through the title band, ascending.
std::vector<Span> crossings(const LocalLayout& layout) {
  std::vector<Span> spans;
  for (const auto& curve : layout.curves) {
    for (size_t i = 0; i + 3 < curve.size(); i += 3) {
      if (std::min({curve[i].y(), curve[i + 1].y(), curve[i + 2].y(), curve[i + 3].y()}) > kTitleBand) continue;
      const auto [low, high] = std::minmax({curve[i].x(), curve[i + 1].x(), curve[i + 2].x(), curve[i + 3].x()});
      spans.push_back({low, high});
    }
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.from < b.from; });
  return spans;
}

std::vector<Span> gapsBetween(const std::vector<Span>& crossed, double width) {
  std::vector<Span> gaps;
  double begin = 0;
  for (const Span& span : crossed) {
    if (span.from > begin) gaps.push_back({begin, span.from});
    begin = std::max(begin, span.to);
  }
  gaps.push_back({begin, width});
  return gaps;
}

bool fit(LocalLayout& layout, const std::vector<Span>& gaps, double width) {
  std::vector<size_t> order{0, gaps.size() - 1};
  for (size_t i = 1; i + 1 < gaps.size(); ++i) order.push_back(i);
  for (const size_t i : order) {
    if (gaps[i].to - gaps[i].from < width + 2 * kTitleGap) continue;
    const bool atRightEnd = i + 1 == gaps.size() && i > 0;
    layout.titleX = atRightEnd ? layout.size.width() - kTitleGap - width : gaps[i].from + kTitleGap;
    return true;
  }
  return false;
}

// Places the title of an open group in the band below its top border, beside the curves that cross it: at the left if
// it fits there, else at the right end, else between two curves; with the class (full width) or, if that fits
// nowhere, the name alone. False when there is no room: the layout is then as before, but for its title fields.
bool fitTitle(LocalLayout& layout, double fullWidth, double nameWidth) {
  const std::vector<Span> gaps = gapsBetween(crossings(layout), layout.size.width());
  layout.titleShort = false;
  if (fit(layout, gaps, fullWidth)) return true;
  layout.titleShort = true;
  return fit(layout, gaps, nameWidth);
}

// Makes room for the name at the right end.
void widenForTitle(LocalLayout& layout, double nameWidth) {
  double begin = 0;
  for (const Span& span : crossings(layout)) begin = std::max(begin, span.to);
  const double width = std::max(layout.size.width(), begin + nameWidth + 2 * kTitleGap);
  layout.titleShort = true;
  layout.size.setWidth(2 * std::ceil(width / 2));  // even: its center is on a whole pixel
  layout.titleX = layout.size.width() - kTitleGap - nameWidth;
}

constexpr double kSidePad = 20;
constexpr double kSumMark = 10;  // more, where a sum's class mark may be left of it
constexpr double kBottomPad = 18;

class GroupLayout {
 public:
  GroupLayout(const LocalInput& input, const RunDot& runDot) : input_(input), runDot_(runDot) {
    addBoxes();
    addEdges();
  }

  Result<LocalLayout> runByDot() {
    Result<DotDrawing> drawing = draw(dot_);
    if (drawing) useRails(*drawing);
    if (drawing && streamOnTheRight(*drawing)) preferOther(*drawing);
    if (drawing && !rails_.empty() && !putOnRails(*drawing)) drawing = draw(dot_);
    if (failed_) return tl::unexpected(*failed_);
    routeAlongStream(dot_, *drawing);
    drawing->curves.resize(input_.graph.edges.size());  // without the guides
    return frame(*drawing);
  }

  LocalLayout runInLayers() {
    DotDrawing drawing = layOutInLayers(dot_);
    drawing.curves.resize(input_.graph.edges.size());
    return frame(drawing);
  }

  [[nodiscard]] bool isTooLargeForDot() const { return dot_.boxes.size() + dot_.edges.size() > kMostForDot; }

 private:
  // After a first failure nothing is tried again: each may have taken all of its time.
  Result<DotDrawing> draw(const DotGraph& graph) {
    if (failed_) return tl::unexpected(*failed_);
    Result<DotDrawing> drawing = runDot_(graph);
    if (!drawing) failed_ = drawing.error();
    return drawing;
  }

  [[nodiscard]] int boxCount() const { return static_cast<int>(input_.boxes.size()); }

  void addBoxes() {
    for (const ChildBox& child : input_.boxes) {
      const bool group = child.kind == BoxKind::Frame || child.kind == BoxKind::Card;
      dot_.boxes.push_back({child.size.width(), child.size.height(), child.kind == BoxKind::Sum, false, group,
                            child.inPorts, child.outPorts});
    }
    addPins(input_.graph.inPorts, dot_.sources);
    addPins(input_.graph.outPorts, dot_.sinks);
  }

  // A port of the group itself is a tiny box on its border.
  void addPins(const std::vector<bool>& ports, std::vector<int>& pins) {
    for (const bool stream : ports) {
      pins.push_back(static_cast<int>(dot_.boxes.size()));
      dot_.boxes.push_back({1, 1, false, stream, false, {}, {}});
    }
  }

  [[nodiscard]] int dotBox(const Endpoint& end) const {
    switch (end.kind) {
      case EndpointKind::In:
        return boxCount() + end.port;
      case EndpointKind::Out:
        return boxCount() + static_cast<int>(input_.graph.inPorts.size()) + end.port;
      case EndpointKind::Box:
        break;
    }
    return end.box;
  }

  void addEdges() {
    std::map<int, int> leaving, entering;
    for (const LocalEdge& edge : input_.graph.edges) {
      const auto port = [](const Endpoint& end) { return end.kind == EndpointKind::Box ? end.port : -1; };
      const DotEdge e{.from = dotBox(edge.from),
                      .to = dotBox(edge.to),
                      .fromPort = port(edge.from),
                      .toPort = port(edge.to),
                      .stream = edge.stream};
      ++leaving[e.from];
      ++entering[e.to];
      for (const int end : {e.from, e.to}) {
        DotBox& box = dot_.boxes[static_cast<size_t>(end)];
        box.stream = box.stream || e.stream;
      }
      dot_.edges.push_back(e);
    }
    for (DotEdge& e : dot_.edges) e.chain = leaving[e.from] == 1 && entering[e.to] == 1;
    addGuides();
    keepInside(entering, leaving);
  }

  // Boxes that nothing enters lie below the top border all the same, and boxes that nothing leaves above the bottom.
  void keepInside(std::map<int, int>& entering, std::map<int, int>& leaving) {
    for (int box = 0; box < boxCount(); ++box) {
      if (!dot_.sources.empty() && entering[box] == 0) addOrder(dot_.sources.front(), box);
      if (!dot_.sinks.empty() && leaving[box] == 0) addOrder(box, dot_.sinks.front());
    }
  }

  void addOrder(int from, int to) { dot_.edges.push_back({.from = from, .to = to, .order = true}); }

  // One branch of the stream ends at a sum and the next begins there: a guide keeps both in one column.
  void addGuides() {
    std::map<int, DotEdge> joining, parting;  // by stream box: the last edge into it, the first out of it
    for (const DotEdge& e : dot_.edges) {
      const bool fromStream = dot_.boxes[static_cast<size_t>(e.from)].stream,
                 toStream = dot_.boxes[static_cast<size_t>(e.to)].stream;
      if (toStream && !fromStream && e.from < boxCount() && !dot_.boxes[static_cast<size_t>(e.to)].group)
        joining[e.to] = e;
      if (fromStream && !toStream) parting.try_emplace(e.from, e);
    }
    for (const auto& [box, in] : joining) {
      const auto out = parting.find(box);
      if (out == parting.end()) continue;
      dot_.edges.push_back({.from = in.from,
                            .to = out->second.to,
                            .fromPort = in.fromPort,
                            .toPort = out->second.toPort,
                            .guide = true});
    }
  }

  // Puts the edges of a value that goes to many rows on rails; dot then draws again without them.
  void useRails(DotDrawing& drawing) {
    rails_ = findRails(dot_, drawing);
    if (rails_.empty()) return;
    for (const auto& rail : rails_) {
      int first = rail.front();  // the highest reader keeps the source above it
      for (const int edge : rail) {
        dot_.edges[static_cast<size_t>(edge)].routed = true;
        const auto top = [&](int e) {
          return drawing.boxes[static_cast<size_t>(dot_.edges[static_cast<size_t>(e)].to)].top();
        };
        if (top(edge) < top(first)) first = edge;
      }
      const DotEdge highest = dot_.edges[static_cast<size_t>(first)];
      if (highest.from < boxCount()) addOrder(highest.from, highest.to);
    }
    if (Result<DotDrawing> again = draw(dot_)) drawing = std::move(*again);
  }

  // Draws the rails; an edge that no rail can reach is left to dot again. False when nothing is left on rails.
  bool putOnRails(DotDrawing& drawing) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      const std::vector<int> failed = drawRails(dot_, rails_, movable(), drawing);
      if (failed.empty()) return true;
      for (const int edge : failed) {
        dot_.edges[static_cast<size_t>(edge)].routed = false;
        for (auto& rail : rails_) std::erase(rail, edge);
      }
      std::erase_if(rails_, [this](const std::vector<int>& rail) {
        const bool useless = rail.size() < 2;
        for (const int edge : rail) dot_.edges[static_cast<size_t>(edge)].routed = !useless;
        return useless;
      });
      Result<DotDrawing> again = draw(dot_);
      if (rails_.empty() || !again) return false;
      drawing = std::move(*again);
    }
    for (DotEdge& edge : dot_.edges) edge.routed = false;
    return false;
  }

  // The group's own ports may go where their rail is.
  [[nodiscard]] std::vector<bool> movable() const {
    std::vector<bool> pins(dot_.boxes.size(), false);
    for (const int pin : dot_.sources) {
      pins[static_cast<size_t>(pin)] = std::all_of(dot_.edges.begin(), dot_.edges.end(), [pin](const DotEdge& edge) {
        return edge.from != pin || !edge.hasCurve();
      });
    }
    return pins;
  }

  // Side branches look the same everywhere when the stream is always on their left.
  [[nodiscard]] bool streamOnTheRight(const DotDrawing& drawing) const {
    double balance = 0;
    for (const DotEdge& edge : dot_.edges) {
      const bool leaves =
          dot_.boxes[static_cast<size_t>(edge.from)].stream && !dot_.boxes[static_cast<size_t>(edge.to)].stream;
      if (!leaves) continue;
      balance += drawing.boxes[static_cast<size_t>(edge.to)].center().x() -
                 drawing.boxes[static_cast<size_t>(edge.from)].center().x();
    }
    return balance < 0;
  }

  // Lays out the mirror image and mirrors it back. Kept only if it helps: dot promises nothing about sides.
  void preferOther(DotDrawing& drawing) {
    DotGraph mirrored = dot_;
    for (DotBox& box : mirrored.boxes) {
      for (auto* ports : {&box.topPorts, &box.bottomPorts}) {
        for (double& x : *ports) x = box.width - x;
      }
    }
    Result<DotDrawing> other = draw(mirrored);
    if (!other) return;
    const double width = other->bounds.width();
    for (QRectF& rect : other->boxes) rect.moveLeft(width - rect.right());
    for (auto& curve : other->curves) {
      for (QPointF& p : curve) p.setX(width - p.x());
    }
    if (!streamOnTheRight(*other)) drawing = std::move(*other);
  }

  [[nodiscard]] LocalLayout frame(const DotDrawing& drawing) const {
    LocalLayout result;
    QRectF area = contentArea(drawing);
    const size_t ins = input_.graph.inPorts.size(), outs = input_.graph.outPorts.size(), first = input_.boxes.size();
    if (!input_.isModel) {
      const bool hasSum = std::any_of(input_.boxes.begin(), input_.boxes.end(),
                                      [](const ChildBox& box) { return box.kind == BoxKind::Sum; });
      const double title = input_.sideways ? kTitleBand - 8 : 0;
      area.adjust(-kSidePad - (hasSum ? kSumMark : 0) - title, 0, kSidePad, 0);
      if (ins == 0) area.setTop(area.top() - (input_.sideways ? kBottomPad : kTitleBand + 8));
      if (outs == 0) area.setBottom(area.bottom() + kBottomPad);
      if (ins + outs > 0) {
        // Whole pixels between the border and the first port, so that the stream meets its other half exactly.
        const double port = drawing.boxes[first].center().x();
        area.setLeft(port - std::ceil(port - area.left()));
      }
    }
    for (size_t i = 0; i < first; ++i) result.boxes.push_back(drawing.boxes[i].translated(-area.topLeft()));
    for (size_t i = 0; i < ins; ++i) result.inPorts.push_back(drawing.boxes[first + i].center().x() - area.left());
    for (size_t i = 0; i < outs; ++i)
      result.outPorts.push_back(drawing.boxes[first + ins + i].center().x() - area.left());
    result.curves = drawing.curves;
    for (auto& curve : result.curves) {
      for (QPointF& p : curve) p -= area.topLeft();
    }
    result.size = {2 * std::ceil(area.width() / 2), std::ceil(area.height())};  // even: its center is on a whole pixel
    stretchToBorder(result, 3);
    placeTitle(result);
    return result;
  }

  [[nodiscard]] QRectF contentArea(const DotDrawing& drawing) const {
    QRectF area;
    for (size_t i = 0; i < input_.boxes.size(); ++i) area = area.united(drawing.boxes[i]);
    for (const auto& curve : drawing.curves) {
      for (const QPointF& p : curve) {
        area.setLeft(std::min(area.left(), p.x()));
        area.setRight(std::max(area.right(), p.x()));
      }
    }
    const size_t first = input_.boxes.size();
    for (size_t i = first; i < drawing.boxes.size(); ++i) {
      const QPointF pin = drawing.boxes[i].center();
      area.setTop(std::min(area.top(), pin.y()));
      area.setBottom(std::max(area.bottom(), pin.y()));
    }
    return area;
  }

  // Curves that end at a port end on the border itself.
  void stretchToBorder(LocalLayout& layout, double reach) const {
    for (size_t i = 0; i < layout.curves.size(); ++i) {
      const LocalEdge& edge = input_.graph.edges[i];
      auto& curve = layout.curves[i];
      if (edge.from.kind == EndpointKind::In && curve.front().y() < reach)
        curve.front() = {layout.inPorts[static_cast<size_t>(edge.from.port)], 0};
      if (edge.to.kind == EndpointKind::Out)
        curve.back() = {layout.outPorts[static_cast<size_t>(edge.to.port)], layout.size.height()};
    }
  }

  void placeTitle(LocalLayout& layout) const {
    if (input_.sideways && !input_.isModel) {
      layout.titleX = 6;
      layout.titleShort = layout.size.height() < input_.titleWidth;
      if (layout.size.height() < input_.shortTitleWidth) {
        layout.size.setHeight(std::ceil(input_.shortTitleWidth));
        stretchToBorder(layout, 3);
      }
      return;
    }
    if (input_.isModel || fitTitle(layout, input_.titleWidth, input_.shortTitleWidth)) return;
    raiseBorder(layout, kTitleBand - 8);  // a band of its own
    if (!fitTitle(layout, input_.titleWidth, input_.shortTitleWidth)) widenForTitle(layout, input_.shortTitleWidth);
  }

  // Moves everything but the ports down.
  void raiseBorder(LocalLayout& layout, double by) const {
    for (QRectF& box : layout.boxes) box.translate(0, by);
    for (auto& curve : layout.curves) {
      for (QPointF& p : curve) p.ry() += by;
    }
    layout.size.rheight() += by;
    stretchToBorder(layout, by + 3);
  }

  const LocalInput& input_;
  const RunDot& runDot_;
  std::optional<Error> failed_;  // The error that dot ended with.
  DotGraph dot_;
  std::vector<std::vector<int>> rails_;
};

}  // namespace

QByteArray layoutKey(const LocalInput& input) {
  QByteArray key;
  const auto put = [&key](double value) {
    char digits[24];
    key.append(digits, std::to_chars(digits, std::end(digits), std::lround(value * 16)).ptr - digits);
    key += ',';
  };
  put(input.isModel);
  put(input.sideways);
  put(input.titleWidth);
  put(input.shortTitleWidth);
  for (const ChildBox& box : input.boxes) {
    put(static_cast<double>(box.kind));
    put(box.size.width());
    put(box.size.height());
    for (const auto* ports : {&box.inPorts, &box.outPorts}) {
      for (const double x : *ports) put(x);
      key += ';';
    }
  }
  for (const auto* ports : {&input.graph.inPorts, &input.graph.outPorts}) {
    key += '|';
    for (const bool stream : *ports) put(stream);
  }
  key += '|';
  for (const LocalEdge& edge : input.graph.edges) {
    for (const Endpoint& end : {edge.from, edge.to}) {
      put(static_cast<double>(end.kind));
      put(end.box);
      put(end.port);
    }
    put(edge.stream);
  }
  return key;
}

Result<LocalLayout> layOutGroup(const LocalInput& input, const RunDot& runDot) {
  GroupLayout byDot(input, runDot);
  if (byDot.isTooLargeForDot()) return byDot.runInLayers();
  Result<LocalLayout> layout = byDot.runByDot();
  if (layout || layout.error().code == ErrorCode::Cancelled) return layout;
  return GroupLayout(input, runDot).runInLayers();
}

}  // namespace normlens::layout
