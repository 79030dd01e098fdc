#include "ui/graphview/accessible_graph.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QPointer>
#include <QWindow>
#include <memory>
#include <vector>

#include "ui/graphview/graph_view.h"

namespace normlens::graphview {
namespace {

// Is valid as long as the layout that it was made for is shown.
class AccessibleBox final : public QAccessibleInterface, public QAccessibleActionInterface {
 public:
  AccessibleBox(GraphView* view, int box) : view_(view), layout_(view->scene().layout), box_(box) {}

  [[nodiscard]] int box() const { return box_; }
  [[nodiscard]] bool isValid() const override { return view_ != nullptr && view_->scene().layout == layout_; }
  [[nodiscard]] QObject* object() const override { return nullptr; }
  [[nodiscard]] QWindow* window() const override { return isValid() ? view_->window()->windowHandle() : nullptr; }
  [[nodiscard]] QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  [[nodiscard]] QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(view_); }
  [[nodiscard]] QAccessibleInterface* child(int) const override { return nullptr; }
  [[nodiscard]] int childCount() const override { return 0; }
  [[nodiscard]] int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  [[nodiscard]] QAccessible::Role role() const override { return QAccessible::ListItem; }
  [[nodiscard]] QString text(QAccessible::Text text) const override {
    if (!isValid()) return {};
    const int item = view_->scene().box(box_).item;
    if (text == QAccessible::Name) return QString::fromStdString(view_->scene().hierarchy->path(item));
    return text == QAccessible::Description ? QString::fromStdString(view_->scene().hierarchy->item(item).type)
                                            : QString();
  }
  void setText(QAccessible::Text, const QString&) override {}
  [[nodiscard]] QRect rect() const override {
    return isValid() ? inView().toAlignedRect().translated(view_->mapToGlobal(QPoint())) : QRect();
  }
  [[nodiscard]] QAccessible::State state() const override {
    QAccessible::State state;
    state.invalid = !isValid();
    if (state.invalid) return state;
    state.selectable = state.focusable = true;
    state.selected = box_ == view_->selectedBox();
    state.focused = state.selected && view_->hasFocus();
    state.offscreen = !inView().intersects(QRectF(view_->rect()));
    state.expanded = view_->scene().box(box_).kind == layout::BoxKind::Frame;
    state.collapsed =
        !state.expanded && view_->scene().itemOf(view_->scene().box(box_)).kind == layout::ItemKind::Group;
    return state;
  }
  void* interface_cast(QAccessible::InterfaceType type) override {
    return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
  }
  [[nodiscard]] QStringList actionNames() const override { return {pressAction()}; }
  void doAction(const QString& name) override {
    if (isValid() && name == pressAction()) view_->chooseBox(box_);
  }
  [[nodiscard]] QStringList keyBindingsForAction(const QString&) const override { return {}; }

 private:
  [[nodiscard]] QRectF inView() const { return view_->camera().toScreen(view_->scene().box(box_).rect); }

  QPointer<GraphView> view_;
  std::shared_ptr<const layout::Layout> layout_;
  int box_;
};

class AccessibleGraph final : public QAccessibleWidget {
 public:
  explicit AccessibleGraph(GraphView* view) : QAccessibleWidget(view, QAccessible::Canvas), view_(view) {}
  ~AccessibleGraph() override { forget(); }

  [[nodiscard]] int childCount() const override {
    return view_->scene().empty() ? 0 : static_cast<int>(view_->scene().layout->boxes.size());
  }
  [[nodiscard]] QAccessibleInterface* child(int index) const override {
    if (index < 0 || index >= childCount()) return nullptr;
    if (layout_ != view_->scene().layout) forget();
    layout_ = view_->scene().layout;
    boxes_.resize(layout_->boxes.size());
    QAccessible::Id& id = boxes_[static_cast<size_t>(index)];
    if (id == 0) id = QAccessible::registerAccessibleInterface(new AccessibleBox(view_, index));  // Qt owns it
    return QAccessible::accessibleInterface(id);
  }
  [[nodiscard]] int indexOfChild(const QAccessibleInterface* child) const override {
    const auto* box = dynamic_cast<const AccessibleBox*>(child);
    return box != nullptr && box->isValid() ? box->box() : -1;
  }
  [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override {
    if (view_->scene().empty()) return nullptr;
    return child(view_->scene().hitTest(view_->camera().toWorld(QPointF(view_->mapFromGlobal(QPoint(x, y)))), 0).box);
  }
  [[nodiscard]] QAccessibleInterface* focusChild() const override { return child(view_->selectedBox()); }

 private:
  void forget() const {
    for (const QAccessible::Id id : boxes_) {
      if (id != 0) QAccessible::deleteAccessibleInterface(id);
    }
    boxes_.clear();
  }

  GraphView* view_;
  mutable std::shared_ptr<const layout::Layout> layout_;  // whose boxes are known
  mutable std::vector<QAccessible::Id> boxes_;            // 0: never asked for
};

QAccessibleInterface* accessibleGraph(const QString&, QObject* object) {
  auto* view = qobject_cast<GraphView*>(object);
  return view != nullptr ? new AccessibleGraph(view) : nullptr;
}

}  // namespace

void makeGraphsAccessible() { QAccessible::installFactory(accessibleGraph); }  // Qt keeps it once

void announceBox(GraphView* view, int box) {
  if (box < 0 || !QAccessible::isActive()) return;
  QAccessibleEvent focus(view, QAccessible::Focus);
  focus.setChild(box);
  QAccessible::updateAccessibility(&focus);
}

}  // namespace normlens::graphview
