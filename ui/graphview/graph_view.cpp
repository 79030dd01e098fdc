#include "ui/graphview/graph_view.h"

#include <QApplication>
#include <QCoreApplication>
#include <QEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPainter>
#include <QResizeEvent>
#include <QString>
#include <QStringList>
#include <QTimerEvent>
#include <QToolTip>
#include <QVariantAnimation>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ui/graphview/accessible_graph.h"
#include "ui/graphview/marks/lighting.h"
#include "ui/graphview/marks/neighbours.h"
#include "ui/graphview/overlays/blocker_chip.h"
#include "ui/graphview/overlays/minimap.h"
#include "ui/graphview/overlays/zoom_control.h"
#include "ui/graphview/paint/graph_painter.h"
#include "ui/graphview/scene.h"
#include "ui/words/format.h"

namespace normlens::graphview {
namespace {

constexpr double kMargin = 22;
constexpr double kZoomStep = 1.25;
constexpr double kZoomBesideMap = 0.6;  // the least of a first look that keeps clear of the minimap
constexpr int kAnimationMs = 180;
constexpr double kLeastNames = 0.8;  // A share of the text's size, for a place that the view goes to: see lookAtBox().

// Into which shapes and text go as such.
bool isFile(const QPaintEngine& engine) {
  return engine.type() == QPaintEngine::SVG || engine.type() == QPaintEngine::Pdf;
}

QString tr(const char* words, int n = -1) { return QCoreApplication::translate("HitText", words, nullptr, n); }

QString escaped(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

// "12 MatMul, 6 Add, …": what a group is made of, the most frequent first.
QString opCounts(const layout::Hierarchy& hierarchy, int group) {
  constexpr size_t kMost = 6;
  std::map<std::string, int> counts;
  std::vector<int> open{group};
  while (!open.empty()) {
    const layout::Item& item = hierarchy.item(open.back());
    open.pop_back();
    open.insert(open.end(), item.children.begin(), item.children.end());
    if (item.kind != layout::ItemKind::Op || item.ops == 0) continue;
    const auto& node = hierarchy.document->nodes[static_cast<size_t>(item.node)];
    ++counts[node.label.empty() ? node.op : node.label];
  }
  std::vector<std::pair<int, std::string>> ranked;
  for (const auto& [label, count] : counts) ranked.emplace_back(count, label);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  QStringList words;
  for (size_t i = 0; i < std::min(ranked.size(), kMost); ++i)
    words << QStringLiteral("%1 %2").arg(ranked[i].first).arg(escaped(ranked[i].second));
  if (ranked.size() > kMost) words << QStringLiteral("…");
  return words.isEmpty() ? QString() : QStringLiteral("<br>") + words.join(QStringLiteral(", "));
}

QString verdictWords(const layout::Hierarchy& hierarchy, const NormVerdicts& verdicts, int group) {
  const auto found = verdicts.inGroup.find(group);
  if (found == verdicts.inGroup.end()) {
    const QString norms = layout::normSummary(hierarchy.item(group));
    return norms.isEmpty() ? QString() : QStringLiteral("<br>") + norms;
  }
  const auto of = [&](Verdict verdict) { return found->second[static_cast<size_t>(verdict)]; };
  const int unknown = of(Verdict::Unknown);
  return QStringLiteral("<br>") +
         tr("LayerNorms: %1 free, %2 with centering, %3 blocked")
             .arg(of(Verdict::Free))
             .arg(of(Verdict::WithCentering))
             .arg(of(Verdict::Blocked)) +
         (unknown > 0 ? tr(", %1 not known").arg(unknown) : QString());
}

// Describes a box or an edge under the pointer, as rich text for a tooltip: a name, what it is or is made of, its
// shape, verdicts, and the highlight's note on it. Empty where nothing was hit.
QString hitText(const Scene& scene, const Hit& hit, const Marks& marks) {
  const auto& document = *scene.hierarchy->document;
  const auto describe = [&](const protocol::GraphValue& value) { return valueText(value).toHtmlEscaped(); };
  if (hit.edge >= 0) {
    const int index = scene.valueOfEdge(hit.edge);
    if (index < 0) return tr("%n values", scene.edge(hit.edge).dataCount);
    const auto& value = document.values[static_cast<size_t>(index)];
    // By what makes it: values of TorchScript are named x.1 or 9.
    const std::string maker = scene.hierarchy->path(scene.dataOf(hit.edge).front().from);
    const QString name = maker == value.name ? QString() : QStringLiteral("<br>") + escaped(value.name);
    return QStringLiteral("<b>%1</b><br>%2%3").arg(escaped(maker), describe(value), name);
  }
  if (hit.box < 0) return {};
  const int index = scene.box(hit.box).item;
  const layout::Item& item = scene.hierarchy->item(index);
  QString text = QStringLiteral("<b>%1</b>").arg(escaped(scene.hierarchy->path(index)));
  if (item.kind == layout::ItemKind::Group) {
    if (!item.type.empty()) text += QStringLiteral("<br>") + escaped(item.type);
    text += QStringLiteral("<br>") + layout::opSummary(item);
    text += opCounts(*scene.hierarchy, index) + verdictWords(*scene.hierarchy, marks.verdicts, index);
  } else {
    const auto& node = document.nodes[static_cast<size_t>(item.node)];
    text += QStringLiteral("<br>") + escaped(node.op);
    if (item.type != node.op && !item.type.empty()) text += QStringLiteral(" · ") + escaped(item.type);
    if (const int value = scene.hierarchy->values.of(scene.hierarchy->outputOf(index)); value >= 0) {
      const QString shape = describe(document.values[static_cast<size_t>(value)]);
      if (!shape.isEmpty()) text += QStringLiteral("<br>") + shape;
    }
  }
  if (marks.heat.active()) {
    const double ms = marks.heat.ms(index);
    text += QStringLiteral("<br>") + (ms > 0 ? tr("%1 per run").arg(ui::formatMilliseconds(ms)) : tr("not timed"));
  }
  if (const std::string note = marks.lighting.note(index); !note.empty())
    text += QStringLiteral("<br>") + escaped(note);
  return text;
}

constexpr int kHoverMs = 90;             // until the path through what is under the pointer is shown
constexpr double kEdgeSlack = 5;         // pixels beside an edge that still count
constexpr double kWheelFactor = 1.0016;  // per eighth of a degree; one notch (120) is 1.21

}  // namespace

GraphView::GraphView(QWidget* parent) : QWidget(parent), theme_(ui::themeOf(this)), overlays_(this) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  makeGraphsAccessible();
  setAccessibleName(tr("Model graph"));
  setAccessibleDescription(
      tr("Arrow keys move along the edges; Enter opens and closes a group. Plus and minus zoom; the question mark "
         "lists all keys."));
  const ZoomControl* zoom = overlays_.zoomControl();
  connect(overlays_.minimap(), &Minimap::centerRequested, this, &GraphView::centerOn);
  connect(overlays_.blockerChip(), &BlockerChip::clicked, this, &GraphView::blockerRequested);
  connect(zoom, &ZoomControl::zoomInRequested, this, &GraphView::zoomIn);
  connect(zoom, &ZoomControl::zoomOutRequested, this, &GraphView::zoomOut);
  connect(zoom, &ZoomControl::fitRequested, this, &GraphView::fit);
  connect(zoom, &ZoomControl::actualSizeRequested, this, [this] { setZoom(ui::textScale()); });
  connect(&worker_, &layout::LayoutWorker::finished, this, &GraphView::takeLayout);
  connect(&worker_, &layout::LayoutWorker::failed, this, [this](const QString& message) {
    message_.stage.clear();
    setError(message);
  });
  connect(&worker_, &layout::LayoutWorker::progress, this, [this](const QString& stage) {
    message_.stage = stage;
    updateSpinner();
    update();
  });
}

bool GraphView::isStill() const { return isLaidOut() && animation_ == nullptr; }

void GraphView::setPresented(double factor) {
  presented_ = factor / kLeastNames;
  overlays_.setPresented();
  updateOverlays();
}

void GraphView::setBusy(const QString& stage) {
  message_.busy = stage;
  updateSpinner();
  update();
}

void GraphView::setError(const QString& message) {
  message_.error = message;
  updateSpinner();
  updateOverlays();
  update();
}

void GraphView::setMarks(std::vector<NodeMark> marks) {
  wanted_.nodes = std::move(marks);
  if (!shown_.scene.empty()) marks_.diff = DiffMarks(*shown_.scene.hierarchy, wanted_.nodes);
  update();
}

void GraphView::setCamera(const Camera& camera) {
  if (animation_) animation_->stop();
  userMoved_ = true;
  camera_ = camera;
  cameraChanged();
}

void GraphView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::ApplicationPaletteChange) {
    theme_ = ui::themeOf(this);
    painter_.clearCaches();
    updateOverlays();
    update();
  }
  if (event->type() == QEvent::FontChange) painter_.clearCaches();
  // Another size of text: the same place, larger or smaller.
  if (event->type() == QEvent::StyleChange && textScale_ != ui::textScale()) {
    const double ratio = ui::textScale() / std::exchange(textScale_, ui::textScale());
    if (!shown_.scene.empty()) moveCamera(camera_.zoomedAbout(QRectF(rect()).center(), camera_.zoom * ratio), false);
    updateOverlays();
  }
  QWidget::changeEvent(event);
}

// ---- camera

QRectF GraphView::freeArea() const { return QRectF(rect()).adjusted(kMargin, kMargin, -kMargin, -kMargin); }

// For all of the graph: clear of what lies in the corner, if it would reach there.
QRectF GraphView::wholeArea() const {
  const QRectF free = freeArea(), bounds = shown_.scene.layout->bounds, corner(overlays_.corner());
  if (!Camera::fitting(bounds, free).toScreen(bounds).intersects(corner)) return free;
  const QRectF above(free.topLeft(), QPointF(free.right(), corner.top() - kMargin));
  const QRectF beside(free.topLeft(), QPointF(corner.left() - kMargin, free.bottom()));
  if (above.isEmpty() || beside.isEmpty()) return free;
  return Camera::fitting(bounds, beside).zoom > Camera::fitting(bounds, above).zoom ? beside : above;
}

void GraphView::lookFirst() {
  const layout::Layout& layout = *shown_.scene.layout;
  camera_ = firstLook(layout, freeArea());
  if (QRectF(rect()).contains(camera_.toScreen(layout.bounds))) {
    camera_ = Camera::fitting(layout.bounds, wholeArea());
  } else if (camera_.toScreen(layout.bounds).intersects(overlays_.mapArea())) {
    // Across its direction it may fit beside the map, if somewhat smaller.
    const bool down = layout.direction == layout::Direction::Down;
    QRectF clear = freeArea();
    down ? clear.setRight(overlays_.mapArea().left() - kMargin) : clear.setBottom(overlays_.mapArea().top() - kMargin);
    const Camera beside = firstLook(layout, clear, kZoomBesideMap);
    const QRectF shown = beside.toScreen(layout.bounds);
    if (down ? shown.right() <= clear.right() + 1 : shown.bottom() <= clear.bottom() + 1) camera_ = beside;
  }
}

void GraphView::setZoom(double zoom) {
  userMoved_ = true;
  moveCamera(camera_.zoomedAbout(QRectF(rect()).center(), zoom), true);
}

void GraphView::zoomIn() { setZoom(camera_.zoom * kZoomStep); }
void GraphView::zoomOut() { setZoom(camera_.zoom / kZoomStep); }

void GraphView::fit() {
  if (shown_.scene.empty()) return;
  rememberPlace();
  userMoved_ = false;
  moveCamera(Camera::fitting(shown_.scene.layout->bounds, wholeArea()), true);
}

void GraphView::centerOn(const QPointF& world) {
  userMoved_ = true;
  moveCamera(camera_.placing(world, QRectF(rect()).center()), false);
}

void GraphView::showItem(int item) {
  const int box = shown_.scene.boxOf(item);
  if (box < 0) return;
  userMoved_ = true;
  moveCamera(lookAtBox(shown_.scene.box(box).rect, camera_, freeArea(), ui::textScale() * presented_), true);
}

void GraphView::moveCamera(const Camera& target, bool animated) {
  if (animation_ != nullptr) animation_->stop();
  if (!animated || !animated_ || !isVisible()) {
    camera_ = target;
    cameraChanged();
    return;
  }
  animation_ = new QVariantAnimation(this);
  animation_->setDuration(kAnimationMs);
  animation_->setStartValue(0.0);
  animation_->setEndValue(1.0);
  animation_->setEasingCurve(QEasingCurve::OutCubic);
  connect(animation_, &QVariantAnimation::valueChanged, this, [this, from = camera_, target](const QVariant& value) {
    const double t = value.toDouble();
    camera_ = t >= 1 ? target : Camera::between(from, target, t, size());
    cameraChanged();
  });
  animation_->start(QAbstractAnimation::DeleteWhenStopped);
}

void GraphView::cameraChanged() {
  if (!shown_.scene.empty()) camera_ = keptInSight(camera_, shown_.scene.layout->bounds, size());
  wantedCamera_ = {camera_, size()};
  overlays_.setCamera(camera_.zoom / ui::textScale(), camera_.toWorld(QRectF(rect())));
  Q_EMIT viewMoved();
  update();
}

void GraphView::updateOverlays() {
  const bool shown = !shown_.scene.empty() && message_.error.isEmpty() && document_ != nullptr;
  overlays_.show(shown, shown_.scene, marks_.lighting, marks_.means);
  overlays_.setCamera(camera_.zoom / ui::textScale(), camera_.toWorld(QRectF(rect())));
}

void GraphView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  updateOverlays();
  if (shown_.scene.empty()) return;
  // From the size that the camera was set for: sizes passed through while panels come and go leave no trace.
  const auto [wanted, from] = wantedCamera_;
  camera_ = wanted;
  if (userMoved_) {
    const QSizeF grown = event->size() - from;
    camera_.offset += QPointF(grown.width() / 2, grown.height() / 2);
  } else if (event->size() != from) {
    lookFirst();
  }
  cameraChanged();
  wantedCamera_ = {wanted, from};
}

// ---- painting

ViewState GraphView::viewState() const {
  return {.marks = &marks_,
          .hover = hover_,
          .selectedBox = selectedBox(),
          .selectedValue = shown_.selectedValue,
          .hoveredValue = hover_.edge >= 0 ? shown_.scene.valueOfEdge(hover_.edge) : -1,
          .reach = &reach_};
}

void GraphView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (document_ == nullptr || shown_.scene.empty() || !message_.error.isEmpty()) {
    painter.fillRect(rect(), theme_.canvas);
    message_.paint(painter, freeArea(), !shown_.scene.empty(), theme_);
  } else {
    GraphPainter shapes(GraphPainter::Use::Picture);
    (isFile(*painter.paintEngine()) ? shapes : painter_)
        .paint(painter, shown_.scene, camera_, size(), viewState(), theme_);
    marks_.diff.paint(painter, shown_.scene, camera_, QRectF(rect()), theme_);
    if (message_.spins()) message_.paint(painter, freeArea(), true, theme_);
  }
}

void GraphView::updateSpinner() { message_.spinIfNeeded(this, worker_.busy(), !shown_.scene.empty()); }

void GraphView::timerEvent(QTimerEvent* event) {
  if (event->timerId() == hoverTimer_.timerId()) {
    hoverTimer_.stop();
    followPath();
  }
  if (message_.turn(*event)) update();
}

PictureOrder GraphView::orderPicture(const QString& path, Extent extent) const {
  constexpr double kSharpness = 2;
  PictureOrder order{path,          shown_.scene,         camera_, size(), kSharpness, marks_,
                     selectedBox(), shown_.selectedValue, theme_};
  if (extent == Extent::Whole) {
    const QRectF bounds = shown_.scene.layout->bounds.adjusted(-kMargin, -kMargin, kMargin, kMargin);
    order.camera = Camera{1, -bounds.topLeft()};
    order.size = bounds.size();
  }
  return order;
}

// ---- mouse, keyboard, selection and search

Hit GraphView::hitAt(const QPointF& position) const {
  return shown_.scene.hitTest(camera_.toWorld(position), kEdgeSlack / camera_.zoom);
}

// ---- selection

int GraphView::selectedNode() const {
  return shown_.selectedItem < 0 ? -1 : shown_.scene.hierarchy->nodeId(shown_.selectedItem);
}

void GraphView::select(int item, int value) {
  shown_.selectedItem = item;
  shown_.selectedValue = value;
  announceBox(this, selectedBox());
  update();
}

void GraphView::selectNode(int node) {
  select(shown_.scene.hierarchy != nullptr ? shown_.scene.hierarchy->itemOfId(node) : -1, -1);
  if (rebuilding()) awaited_.node = node;  // perhaps only the next hierarchy has it
}

void GraphView::selectByUser(const Hit& hit) {
  awaited_.node = -1;
  awaited_.move = false;
  if (hit.box >= 0) {
    const int item = shown_.scene.box(hit.box).item;
    select(item, -1);
    if (const int node = shown_.scene.hierarchy->nodeId(item); node >= 0) {
      Q_EMIT nodeSelected(node);
    } else if (const int scope = shown_.scene.hierarchy->scopeId(item); scope >= 0) {
      Q_EMIT scopeSelected(scope);
    }
  } else if (hit.edge >= 0 && shown_.scene.valueOfEdge(hit.edge) >= 0) {
    const int value = shown_.scene.valueOfEdge(hit.edge);
    select(-1, value);
    Q_EMIT edgeSelected(shown_.scene.hierarchy->document->values[static_cast<size_t>(value)].id);
  } else {
    select(-1, -1);
    Q_EMIT nodeSelected(-1);
  }
}

void GraphView::moveSelection(int dx, int dy) {
  if (shown_.scene.empty()) return;
  const int current = shown_.scene.boxOf(shown_.selectedItem);
  const int best = boxTowards(shown_.scene, current, camera_.toWorld(QRectF(rect()).center()), dx, dy);
  if (best < 0) return;
  selectByUser({best, -1, false});
  const QRectF box = shown_.scene.box(best).rect;
  if (freeArea().contains(camera_.toScreen(box))) return;
  userMoved_ = true;
  moveCamera(camera_.placing(box.center(), QRectF(rect()).center()), true);
}

// ---- mouse

void GraphView::updateHover(const QPointF& position) {
  const Hit hit = hitAt(position);
  if (hit == hover_) return;
  hover_ = hit;
  reach_ = {};
  hoverTimer_.start(kHoverMs, this);
  const bool hand =
      hit.onBadge || hit.edge >= 0 || (hit.box >= 0 && shown_.scene.box(hit.box).kind != layout::BoxKind::Frame);
  setCursor(hand ? Qt::PointingHandCursor : Qt::ArrowCursor);
  update();
}

void GraphView::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::BackButton) return goBack();
  if (event->button() == Qt::ForwardButton) return goForward();
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
  if (animation_ != nullptr) animation_->stop();
  pressed_ = true;
  dragging_ = false;
  pressedAt_ = lastDrag_ = event->position();
}

void GraphView::mouseMoveEvent(QMouseEvent* event) {
  if (!pressed_) {
    updateHover(event->position());
    return;
  }
  if (!dragging_ && (event->position() - pressedAt_).manhattanLength() < QApplication::startDragDistance()) return;
  dragging_ = true;
  reach_ = {};
  userMoved_ = true;
  setCursor(Qt::ClosedHandCursor);
  camera_.offset += event->position() - lastDrag_;
  lastDrag_ = event->position();
  cameraChanged();
}

void GraphView::mouseReleaseEvent(QMouseEvent* event) {
  if (!pressed_) return;
  pressed_ = false;
  setCursor(Qt::ArrowCursor);
  if (!std::exchange(dragging_, false) && event->button() == Qt::LeftButton && !shown_.scene.empty()) {
    const Hit hit = hitAt(event->position());
    if (hit.onBadge) {
      toggle(shown_.scene.box(hit.box).item);
    } else {
      selectByUser(hit);
    }
  }
  updateHover(event->position());
}

void GraphView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || shown_.scene.empty()) return;
  const Hit hit = hitAt(event->position());
  if (hit.box < 0) return;
  if (hit.onBadge) {  // a quick second click on + and then -
    pressed_ = true;
    pressedAt_ = lastDrag_ = event->position();
    return;
  }
  const int item = shown_.scene.box(hit.box).item;
  if (shown_.scene.hierarchy->item(item).kind == layout::ItemKind::Group) {
    toggle(item);
  } else {
    rememberPlace();
    showItem(item);
  }
}

void GraphView::wheelEvent(QWheelEvent* event) {
  if (shown_.scene.empty()) return;
  if (animation_ != nullptr) animation_->stop();
  userMoved_ = true;
  if (event->modifiers() & Qt::ShiftModifier) {
    const QPoint delta = event->angleDelta();
    camera_.offset += QPointF(delta.x() != 0 ? delta.x() : delta.y(), 0) * 0.6;
  } else {
    camera_ = camera_.zoomedAbout(event->position(), camera_.zoom * std::pow(kWheelFactor, event->angleDelta().y()));
  }
  cameraChanged();
  event->accept();
}

void GraphView::leaveEvent(QEvent*) {
  hover_ = {};
  reach_ = {};
  update();
}

// ---- keyboard

void GraphView::keyPressEvent(QKeyEvent* event) {
  const bool alt = event->modifiers() & Qt::AltModifier;
  switch (event->key()) {
    case Qt::Key_Left:
      return alt ? goBack() : moveSelection(-1, 0);
    case Qt::Key_Right:
      return alt ? goForward() : moveSelection(1, 0);
    case Qt::Key_Up:
      return moveSelection(0, -1);
    case Qt::Key_Down:
      return moveSelection(0, 1);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoomIn();
    case Qt::Key_Minus:
      return zoomOut();
    case Qt::Key_Home:
      return fit();
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
      if (shown_.scene.empty() && !worker_.busy()) requestLayout();
      if (shown_.selectedItem >= 0 && shown_.scene.hierarchy->item(shown_.selectedItem).kind == layout::ItemKind::Group)
        toggle(shown_.selectedItem);
      return;
    case Qt::Key_Backspace:
      return selectAround();
    case Qt::Key_Question:
      return overlays_.toggleKeys();
    case Qt::Key_Escape:
      return stepBack();
    default:
      handleLetter(event);
  }
}

void GraphView::stepBack() {
  if (!overlays_.hideKeys() && !stopLayout()) selectByUser({});
}

void GraphView::handleLetter(QKeyEvent* event) {
  const bool shift = event->modifiers() & Qt::ShiftModifier, control = event->modifiers() & Qt::ControlModifier;
  if (event->key() == Qt::Key_0) return control ? setZoom(1) : fit();
  if (event->key() > Qt::Key_0 && event->key() <= Qt::Key_9 && !control) return expandToDepth(event->key() - Qt::Key_0);
  if (event->key() == Qt::Key_E && shift) return expandAll();
  if (event->key() == Qt::Key_C && shift) return collapseAll();
  QWidget::keyPressEvent(event);
}

// The open group around what is selected.
void GraphView::selectAround() {
  const int box = shown_.scene.boxOf(shown_.selectedItem);
  const int frame = box < 0 ? -1 : shown_.scene.box(box).frame;
  if (frame >= 0) selectByUser({frame, -1, false});
}

// ---- tooltips

bool GraphView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString text = shown_.scene.empty() ? QString() : hitText(shown_.scene, hitAt(help->pos()), marks_);
    if (text.isEmpty()) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), text, this);
    }
    return true;
  }
  return QWidget::event(event);
}

}  // namespace normlens::graphview
