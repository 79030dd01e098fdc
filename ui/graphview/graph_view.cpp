#include "ui/graphview/graph_view.h"

#include <QElapsedTimer>
#include <QEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QTimerEvent>
#include <QVariantAnimation>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/graphview/overlays/mean_legend.h"
#include "ui/graphview/overlays/minimap.h"
#include "ui/graphview/overlays/shortcut_sheet.h"
#include "ui/graphview/overlays/zoom_control.h"

namespace normlens::graphview {
namespace {

constexpr double kMargin = 22;
constexpr double kOverlayGap = 12;
constexpr double kZoomStep = 1.25;
constexpr double kReadableZoom = 0.7;  // smaller text is no first look
constexpr int kAnimationMs = 180;
constexpr int kMessagePixels = 13;

}  // namespace

GraphView::GraphView(QWidget* parent) : QWidget(parent), theme_(ui::themeOf(this)) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Model graph"));
  setAccessibleDescription(tr(
      "Arrow keys move along the edges, Enter opens and closes a group, plus and minus zoom, question mark lists all "
      "keys."));
  minimap_ = new Minimap(this);
  zoomControl_ = new ZoomControl(this);
  shortcuts_ = new ShortcutSheet(this);
  meanLegend_ = new MeanLegend(this);
  meanLegend_->hide();
  minimap_->hide();
  zoomControl_->hide();
  zoomControl_->setTheme(theme_);
  connect(minimap_, &Minimap::centerRequested, this, &GraphView::centerOn);
  connect(zoomControl_, &ZoomControl::zoomInRequested, this, &GraphView::zoomIn);
  connect(zoomControl_, &ZoomControl::zoomOutRequested, this, &GraphView::zoomOut);
  connect(zoomControl_, &ZoomControl::fitRequested, this, &GraphView::fit);
  connect(zoomControl_, &ZoomControl::actualSizeRequested, this, [this] { setZoom(1); });
  connect(&worker_, &layout::LayoutWorker::finished, this, &GraphView::takeLayout);
  connect(&worker_, &layout::LayoutWorker::failed, this, [this](const QString& message) {
    stage_.clear();
    setError(message);
  });
  connect(&worker_, &layout::LayoutWorker::progress, this, [this](const QString& stage, double) {
    stage_ = stage;
    updateSpinner();
    update();
  });
}

GraphView::~GraphView() = default;

void GraphView::setBusy(const QString& stage) {
  busy_ = stage;
  updateSpinner();
  update();
}

void GraphView::setError(const QString& message) {
  error_ = message;
  updateSpinner();
  updateOverlays();
  update();
}

void GraphView::setMarks(std::vector<NodeMark> marks) {
  nodeMarks_ = std::move(marks);
  diffMarks_ = shown_.scene.hierarchy != nullptr ? DiffMarks(*shown_.scene.hierarchy, nodeMarks_) : DiffMarks();
  update();
}

void GraphView::setCamera(const Camera& camera) {
  if (animation_) animation_->stop();
  userMoved_ = true;
  camera_ = camera;
  cameraChanged();
}

void GraphView::setTheme(const ui::Theme& theme) {
  ownTheme_ = true;
  theme_ = theme;
  painter_.clearCaches();
  zoomControl_->setTheme(theme);
  updateOverlays();
  update();
}

void GraphView::changeEvent(QEvent* event) {
  if (!ownTheme_ && (event->type() == QEvent::PaletteChange || event->type() == QEvent::ApplicationPaletteChange)) {
    setTheme(ui::themeOf(this));
    ownTheme_ = false;
  }
  if (event->type() == QEvent::FontChange) painter_.clearCaches();
  QWidget::changeEvent(event);
}

// ---- camera

QRectF GraphView::freeArea() const { return QRectF(rect()).adjusted(kMargin, kMargin, -kMargin, -kMargin); }

// Everything if it can be read like that, else the top of the model.
Camera GraphView::firstCamera() const {
  const QRectF bounds = shown_.scene.layout->bounds;
  const Camera whole = Camera::fitting(bounds, freeArea());
  if (whole.zoom >= kReadableZoom) return whole;
  if (shown_.scene.layout->direction == layout::Direction::Right) {
    const double zoom = std::clamp(freeArea().height() / bounds.height(), kReadableZoom, 1.0);
    const double y = bounds.height() * zoom > freeArea().height() && !shown_.scene.layout->points.empty()
                         ? shown_.scene.layout->boxes.front().rect.center().y()
                         : bounds.center().y();
    return Camera{zoom, {}}.placing({bounds.left(), y}, {freeArea().left(), freeArea().center().y()});
  }
  const double zoom = std::clamp(freeArea().width() / bounds.width(), kReadableZoom, 1.0);
  const double x = bounds.width() * zoom > freeArea().width() && !shown_.scene.layout->points.empty()
                       ? shown_.scene.layout->boxes.front().rect.center().x()
                       : bounds.center().x();
  return Camera{zoom, {}}.placing({x, bounds.top()}, {freeArea().center().x(), freeArea().top()});
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
  moveCamera(Camera::fitting(shown_.scene.layout->bounds, freeArea()), true);
}

void GraphView::centerOn(const QPointF& world) {
  userMoved_ = true;
  moveCamera(camera_.placing(world, QRectF(rect()).center()), false);
}

void GraphView::showItem(int item, bool animated) {
  const int box = shown_.scene.layout->shownBox(*shown_.scene.hierarchy, item);
  if (box < 0) return;
  const QRectF rect = shown_.scene.layout->boxes[static_cast<size_t>(box)].rect;
  userMoved_ = true;
  const double whole = Camera::fitting(rect, freeArea(), 1).zoom;
  const double zoom = std::clamp(camera_.zoom, std::min(0.8, whole), std::max(1.2, whole));
  const bool tall = rect.height() * zoom > freeArea().height();
  const QPointF world = tall ? QPointF(rect.center().x(), rect.top()) : rect.center();
  const QPointF screen = tall ? QPointF(freeArea().center().x(), freeArea().top()) : freeArea().center();
  moveCamera(Camera{zoom, {}}.placing(world, screen), animated);
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
  if (!shown_.scene.empty()) {  // a corner of the graph always stays in sight
    constexpr double kKeep = 60;
    const QRectF bounds = camera_.toScreen(shown_.scene.layout->bounds);
    const double dx = std::max(0.0, kKeep - bounds.right()) + std::min(0.0, width() - kKeep - bounds.left());
    const double dy = std::max(0.0, kKeep - bounds.bottom()) + std::min(0.0, height() - kKeep - bounds.top());
    camera_.offset += QPointF(dx, dy);
  }
  zoomControl_->setZoom(camera_.zoom);
  minimap_->setVisibleArea(camera_.toWorld(QRectF(rect())));
  Q_EMIT zoomChanged(camera_.zoom);
  Q_EMIT viewMoved();
  update();
}

// ---- overlays

void GraphView::placeOverlays() {
  const QSize map = minimap_->sizeHint(), control = zoomControl_->sizeHint();
  const int right = width() - static_cast<int>(kOverlayGap), bottom = height() - static_cast<int>(kOverlayGap);
  minimap_->setGeometry(right - map.width(), bottom - map.height(), map.width(), map.height());
  meanLegend_->move(static_cast<int>(kOverlayGap), bottom - meanLegend_->height());
  const int controlRight = minimap_->isHidden() ? right : minimap_->x() - 8;
  zoomControl_->setGeometry(controlRight - control.width(), bottom - control.height(), control.width(),
                            control.height());
}

void GraphView::updateOverlays() {
  const bool shown = !shown_.scene.empty() && error_.isEmpty() && document_ != nullptr;
  zoomControl_->setVisible(shown);
  minimap_->setVisible(shown && width() > 480 && height() > 300);
  meanLegend_->setStates(means_, theme_);
  meanLegend_->setVisible(shown && means_.active());
  minimap_->setScene(&shown_.scene, &lighting_, theme_);
  minimap_->setVisibleArea(camera_.toWorld(QRectF(rect())));
  placeOverlays();
}

void GraphView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (!shown_.scene.empty()) {
    if (!userMoved_) {
      camera_ = firstCamera();
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
  ViewState state;
  state.hover = hover_;
  if (shown_.selectedItem >= 0 && shown_.scene.layout != nullptr)
    state.selectedBox = shown_.scene.layout->shownBox(*shown_.scene.hierarchy, shown_.selectedItem);
  state.selectedValue = shown_.selectedValue;
  state.hoveredValue = hover_.edge >= 0 ? shown_.scene.valueOfEdge(hover_.edge) : -1;
  state.lighting = &lighting_;
  state.verdicts = &verdicts_;
  state.verdictCounts = &verdictCounts_;
  state.reach = &reach_;
  state.means = &means_;
  return state;
}

void GraphView::paintEvent(QPaintEvent*) {
  QElapsedTimer timer;
  timer.start();
  QPainter painter(this);
  if (document_ == nullptr || shown_.scene.empty() || !error_.isEmpty()) {
    painter.fillRect(rect(), theme_.canvas);
    paintMessage(painter);
  } else {
    painter_.paint(painter, shown_.scene, camera_, size(), viewState(), theme_);
    diffMarks_.paint(painter, shown_.scene, camera_, QRectF(rect()), theme_);
    if (spinnerTimer_ != 0) paintMessage(painter);
  }
  frameMs_ = static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

void GraphView::paintSpinner(QPainter& painter, const QPointF& center, double radius) const {
  const QRectF circle(center.x() - radius, center.y() - radius, 2 * radius, 2 * radius);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme_.hairline, 2));
  painter.drawEllipse(circle);
  painter.setPen(QPen(theme_.accentText, 2, Qt::SolidLine, Qt::RoundCap));
  painter.drawArc(circle, static_cast<int>(-spinnerAngle_ * 16), 100 * 16);
}

void GraphView::paintMessage(QPainter& painter) {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(layout::labelFont(kMessagePixels, false));
  const bool spinning = spinnerTimer_ != 0 && error_.isEmpty();
  QString text = !error_.isEmpty()  ? error_
                 : !busy_.isEmpty() ? busy_
                 : spinning         ? stage_
                                    : tr("Open a model to see its graph");
  if (spinning && text.isEmpty()) text = tr("Arranging the graph");
  if (shown_.scene.empty() || !error_.isEmpty()) {
    const QRectF area = freeArea();
    const QPointF middle = area.center();
    if (spinning) paintSpinner(painter, middle - QPointF(0, 34), 13);
    painter.setPen(error_.isEmpty() ? theme_.textSoft : theme_.blocked);
    const double column = std::min(area.width(), 460.0);
    painter.drawText(QRectF(middle.x() - column / 2, middle.y() - 8, column, 120),
                     Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, text);
    return;
  }
  // A graph is shown already: a small note in the corner.
  const double width = painter.fontMetrics().horizontalAdvance(text) + 46;
  const QRectF note(12, 12, width, 28);
  painter.setPen(QPen(theme_.control, 1));
  painter.setBrush(theme_.panel);
  painter.drawRoundedRect(note.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  paintSpinner(painter, {note.left() + 17, note.center().y()}, 6);
  painter.setPen(theme_.textSoft);
  painter.drawText(note.adjusted(32, 0, -8, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
}

void GraphView::updateSpinner() {
  const bool wanted =
      error_.isEmpty() && (!busy_.isEmpty() || (worker_.busy() && (shown_.scene.empty() || !stage_.isEmpty())));
  if (wanted && spinnerTimer_ == 0) spinnerTimer_ = startTimer(33);
  if (!wanted && spinnerTimer_ != 0) {
    killTimer(spinnerTimer_);
    spinnerTimer_ = 0;
  }
}

void GraphView::timerEvent(QTimerEvent* event) {
  if (event->timerId() == hoverTimer_) {
    killTimer(std::exchange(hoverTimer_, 0));
    followPath();
    return;
  }
  if (event->timerId() != spinnerTimer_) return;
  spinnerAngle_ = std::fmod(spinnerAngle_ + 12, 360);
  update();
}

QImage GraphView::renderToImage(const QSize& size, double devicePixelRatio, bool fitAll) const {
  QImage image(size * devicePixelRatio, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(devicePixelRatio);
  image.fill(theme_.canvas);
  if (shown_.scene.empty()) return image;
  const QRectF area(QPointF(0, 0), QSizeF(size));
  Camera camera = camera_;
  if (fitAll) {
    camera = Camera::fitting(shown_.scene.layout->bounds, area.adjusted(kMargin, kMargin, -kMargin, -kMargin));
  } else {
    camera.offset += area.center() - QRectF(rect()).center();
  }
  ViewState state = viewState();
  state.hover = {};
  QPainter painter(&image);
  painter_.paint(painter, shown_.scene, camera, size, state, theme_);
  return image;
}

PictureOrder GraphView::orderPicture(const QString& path, Extent extent) const {
  constexpr double kSharpness = 2;
  PictureOrder order{path,
                     shown_.scene,
                     camera_,
                     size(),
                     kSharpness,
                     lighting_,
                     means_,
                     verdicts_,
                     verdictCounts_,
                     viewState().selectedBox,
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
