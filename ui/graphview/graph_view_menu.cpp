// GraphView: the context menu.
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QMenu>
#include <QMetaMethod>

#include "ui/graphview/graph_view.h"

namespace normlens::graphview {

void GraphView::contextMenuEvent(QContextMenuEvent* event) {
  if (shown_.scene.empty()) return;
  if (event->reason() == QContextMenuEvent::Mouse) {
    const Hit hit = hitAt(event->pos());
    if (hit.box >= 0 || hit.edge >= 0) selectByUser(hit);
    showMenu(hit, event->globalPos());
  } else if (shown_.selectedItem >= 0) {
    const int box = shown_.scene.boxOf(shown_.selectedItem);
    const QRectF rect = camera_.toScreen(shown_.scene.box(box).rect);
    showMenu({box, -1, false}, mapToGlobal(rect.center().toPoint()));
  }
}

void GraphView::showMenu(const Hit& hit, const QPoint& globalPosition) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const int item = hit.box < 0 ? -1 : shown_.scene.box(hit.box).item;
  const bool group = item >= 0 && shown_.scene.hierarchy->item(item).kind == layout::ItemKind::Group;
  int value = item >= 0 ? shown_.scene.hierarchy->outputOf(item) : -1;
  QString name = item >= 0 ? QString::fromStdString(shown_.scene.hierarchy->path(item)) : QString();
  if (hit.edge >= 0 && shown_.scene.valueOfEdge(hit.edge) >= 0) {
    const auto& v = shown_.scene.hierarchy->document->values[static_cast<size_t>(shown_.scene.valueOfEdge(hit.edge))];
    value = v.id;
    name = QString::fromStdString(v.name);
  }
  if (value >= 0) {
    QAction* center = menu->addAction(tr("Center here"), this, [this, value] { Q_EMIT centerHereRequested(value); });
    center->setToolTip(tr("Subtract the mean at run time at this place"));
  }
  // The signal of a graph beside another one is connected to nothing.
  if (value >= 0 && isSignalConnected(QMetaMethod::fromSignal(&GraphView::compareHereRequested))) {
    QAction* compare =
        menu->addAction(tr("Compare values here"), this, [this, value] { Q_EMIT compareHereRequested(value); });
    compare->setToolTip(tr("Add this value to the differences between the two models"));
  }
  const int node = item >= 0 ? shown_.scene.hierarchy->nodeId(item) : -1;
  if (node >= 0 && shown_.scene.hierarchy->item(item).role == 'L') {
    QAction* cone =
        menu->addAction(tr("Show what its centering reaches"), this, [this, node] { Q_EMIT shiftConeRequested(node); });
    cone->setToolTip(
        tr("Light up the values that shift when the plan centers its weights, as far as anything notices"));
  }
  if (!name.isEmpty()) menu->addAction(tr("Copy name"), this, [name] { QApplication::clipboard()->setText(name); });
  if (group) {
    const bool open = shown_.scene.box(hit.box).kind == layout::BoxKind::Frame;
    // Another hierarchy may be on screen before the menu is answered.
    const auto itemNow = [this, item, of = shown_.scene.hierarchy] {
      return shown_.scene.hierarchy == nullptr ? -1 : counterpart(item, *of, *shown_.scene.hierarchy);
    };
    menu->addSeparator();
    menu->addAction(open ? tr("Collapse") : tr("Expand"), this, [this, itemNow] { toggle(itemNow()); });
    menu->addAction(tr("Expand all below"), this, [this, itemNow] {
      const int now = itemNow();
      anchorAt(now);
      if (now >= 0) shown_.openBelow(*shown_.scene.hierarchy, now);
      requestLayout();
    });
  }
  if (item < 0) {
    menu->addAction(tr("Show everything"), this, &GraphView::fit);
    menu->addAction(tr("Expand all"), this, &GraphView::expandAll);
    menu->addAction(tr("Collapse all"), this, &GraphView::collapseAll);
    menu->addAction(tr("Groups as at first"), this, &GraphView::resetGroups);
    menu->addAction(tr("Keys and gestures"), this, [this] { overlays_.toggleKeys(); });
  }
  menu->popup(globalPosition);
}

}  // namespace normlens::graphview
