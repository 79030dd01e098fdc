// GraphView: mouse, keyboard, selection and search.
#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QVariantAnimation>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ui/graphview/graph_view.h"
#include "ui/graphview/hit_text.h"
#include "ui/graphview/marks/neighbours.h"

namespace normlens::graphview {
namespace {

constexpr int kHoverMs = 90;             // until the path through what is under the pointer is shown
constexpr double kEdgeSlack = 5;         // pixels beside an edge that still count
constexpr double kWheelFactor = 1.0016;  // per eighth of a degree; one notch (120) is 1.21

}  // namespace

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
  if (item >= 0) setAccessibleDescription(QString::fromStdString(shown_.scene.hierarchy->path(item)));
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
    case Qt::Key_F:
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
      return overlays_.hideKeys() || stopLayout() ? void() : selectByUser({});
    default:
      handleLetter(event);
  }
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
    const QString text =
        shown_.scene.empty() ? QString() : hitText(shown_.scene, hitAt(help->pos()), marks_.verdicts, marks_.lighting);
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
