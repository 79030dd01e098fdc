#include "ui/graphview/graph_view.h"

#include <QEvent>
#include <QPaintEngine>
#include <QPainter>
#include <QResizeEvent>
#include <QTimerEvent>
#include <QVariantAnimation>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/graphview/overlays/blocker_chip.h"
#include "ui/graphview/overlays/minimap.h"
#include "ui/graphview/overlays/zoom_control.h"

namespace normlens::graphview {
namespace {

constexpr double kMargin = 22;
constexpr double kZoomStep = 1.25;
constexpr int kAnimationMs = 180;
constexpr double kLeastNames = 0.8;  // of the size of text, for what the view goes to: see lookAtBox()

// Into which shapes and text go as such.
bool isFile(const QPaintEngine& engine) {
  return engine.type() == QPaintEngine::SVG || engine.type() == QPaintEngine::Pdf;
}

}  // namespace

GraphView::GraphView(QWidget* parent) : QWidget(parent), theme_(ui::themeOf(this)), overlays_(this) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Model graph"));
  setAccessibleDescription(tr(
      "Arrow keys move along the edges, Enter opens and closes a group, plus and minus zoom, question mark lists all "
      "keys."));
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
  moveCamera(Camera::fitting(shown_.scene.layout->bounds, freeArea()), true);
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
  if (!shown_.scene.empty()) {
    if (!userMoved_) {
      camera_ = firstLook(*shown_.scene.layout, freeArea());
    } else if (event->oldSize().isValid()) {
      const QSizeF grown = event->size() - event->oldSize();
      camera_.offset += QPointF(grown.width() / 2, grown.height() / 2);
    }
    cameraChanged();
  }
  updateOverlays();
}

// ---- painting

ViewState GraphView::viewState() const {
  return {.marks = &marks_,
          .hover = hover_,
          .selectedBox = shown_.scene.boxOf(shown_.selectedItem),
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
  PictureOrder order{path,
                     shown_.scene,
                     camera_,
                     size(),
                     kSharpness,
                     marks_,
                     shown_.scene.boxOf(shown_.selectedItem),
                     shown_.selectedValue,
                     theme_};
  if (extent == Extent::Whole) {
    const QRectF bounds = shown_.scene.layout->bounds.adjusted(-kMargin, -kMargin, kMargin, kMargin);
    order.camera = Camera{1, -bounds.topLeft()};
    order.size = bounds.size();
  }
  return order;
}

}  // namespace normlens::graphview
