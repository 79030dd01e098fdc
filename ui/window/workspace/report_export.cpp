#include "ui/window/workspace/report_export.h"

#include <map>

#include "ui/client/on_worker.h"
#include "ui/graphview/graph_view.h"
#include "ui/graphview/paint/page_drawing.h"
#include "ui/session/report_run.h"
#include "ui/session/session.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/graph_pane.h"

namespace normlens::ui {

namespace {

using graphview::Marks;
using graphview::PictureOrder;
using graphview::Scene;
using layout::Hierarchy;

// Opens the groups around the LayerNorms, so that each has a box of its own.
layout::GroupSet openGroups(const Hierarchy& hierarchy, const std::vector<protocol::NormInfo>& norms) {
  graphview::Wishes wishes;
  wishes.open = layout::defaultExpanded(hierarchy);
  for (const protocol::NormInfo& norm : norms) {
    if (const int item = hierarchy.itemOfId(norm.node); item >= 0) wishes.openAround(hierarchy, item);
  }
  size_t boxes = 0;
  for (const int group : wishes.open) boxes += hierarchy.item(group).children.size();
  return boxes > ReportExport::kMostBoxes ? layout::defaultExpanded(hierarchy) : wishes.open;
}

std::vector<protocol::ReportPlace> placesOf(const Scene& scene, const graphview::Camera& camera,
                                            const std::vector<protocol::NormInfo>& norms) {
  std::map<int, protocol::ReportPlace> places;  // by box
  for (const protocol::NormInfo& norm : norms) {
    const int item = scene.hierarchy->itemOfId(norm.node), box = item < 0 ? -1 : scene.boxOf(item);
    if (box >= 0) places[box].norms.push_back(norm.index);
  }
  std::vector<protocol::ReportPlace> all;
  for (auto& [box, place] : places) {
    const QRectF at = camera.toScreen(scene.box(box).rect);
    all.push_back(
        {scene.hierarchy->path(scene.box(box).item), std::move(place.norms), at.x(), at.y(), at.width(), at.height()});
  }
  return all;
}

protocol::ReportGraph drawn(const PictureOrder& before, const PictureOrder& after,
                            const std::vector<protocol::NormInfo>& norms) {
  protocol::ReportGraph graph;
  graphview::PageColors colors;
  graph.width = before.size.width();
  graph.height = before.size.height();
  graph.pictures = {
      {"Before", "The graph of the original", graphview::pageDrawing(before, colors)},
      {"After", "The graph after the fold: RMSNorms, and what was centered", graphview::pageDrawing(after, colors)}};
  graph.places = placesOf(before.scene, before.camera, norms);
  for (const auto& [light, dark] : colors.all()) graph.colors.push_back({light, dark});
  return graph;
}

}  // namespace

ReportExport::ReportExport(Session* session, GraphPane* graph, QObject* parent)
    : QObject(parent), session_(session), graph_(graph) {
  connect(session_->report(), &ReportRun::made, this, &ReportExport::write);
  connect(session_->report(), &ReportRun::notMade, this, [this](const QString& why) {
    path_.clear();
    if (!why.isEmpty()) Q_EMIT failed(why);
  });
}

ReportExport::~ReportExport() = default;

void ReportExport::start(const QString& path) {
  path_ = path;
  ++number_;
  // Markdown describes pictures in words, and has no place for them.
  if (path.endsWith(QLatin1String(".md"))) return request(protocol::ReportFormat::Markdown, {});
  const Scene& scene = graph_->view()->scene();
  if (scene.empty() || !session_->plan()) return request(protocol::ReportFormat::Html, {});
  layOut();
}

void ReportExport::layOut() {
  if (worker_ == nullptr) {
    worker_ = std::make_unique<layout::LayoutWorker>();
    connect(worker_.get(), &layout::LayoutWorker::finished, this, &ReportExport::draw);
    connect(worker_.get(), &layout::LayoutWorker::failed, this, [this](const QString& why) {
      path_.clear();
      Q_EMIT failed(why);
    });
  }
  layout::LayoutRequest wanted;
  wanted.hierarchy = graph_->view()->scene().hierarchy;
  wanted.document = wanted.hierarchy->document;
  wanted.expanded = openGroups(*wanted.hierarchy, session_->analysis()->norms);
  worker_->request(std::move(wanted));
}

void ReportExport::draw(const layout::LayoutResult& result) {
  constexpr double kMargin = 24, kPills = 90;  // what stands to the right of a box
  if (path_.isEmpty() || !session_->plan()) return;
  PictureOrder before;
  before.scene = Scene(result.hierarchy, result.layout);
  const QRectF bounds = result.layout->bounds.adjusted(-kMargin, -kMargin, kMargin + kPills, kMargin);
  before.camera = graphview::Camera{1, -bounds.topLeft()};
  before.size = bounds.size();
  before.marks = Marks(before.scene, {session_->analysis()->norms, {}, {}, {}, {}, {}});
  PictureOrder after = before;
  after.marks.plan = graphview::PlanMarks(after.scene, graph_->planPicture());
  onWorker(
      this, [before, after, norms = session_->analysis()->norms] { return drawn(before, after, norms); },
      [this, number = number_](protocol::ReportGraph graph) {
        if (number == number_ && !path_.isEmpty()) request(protocol::ReportFormat::Html, std::move(graph));
      });
}

void ReportExport::request(protocol::ReportFormat format, std::optional<protocol::ReportGraph> graph) {
  session_->report()->start(format, std::move(graph));
}

void ReportExport::write(const QByteArray& text) {
  const QString path = std::exchange(path_, {});
  if (path.isEmpty()) return;
  if (writeFile(path, text)) return Q_EMIT written(path);
  Q_EMIT failed(tr("%1 could not be written.").arg(path));
}

}  // namespace normlens::ui
