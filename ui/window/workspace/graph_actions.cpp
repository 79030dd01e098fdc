#include "ui/window/workspace/graph_actions.h"

#include <QSettings>

#include "ui/graphview/graph_view.h"

namespace normlens::ui {

using graphview::GraphView;

GraphActions::GraphActions(GraphView* view, QWidget* parent)
    : QObject(parent), menu(new QMenu(tr("View of the graph"), parent)), view_(view) {
  menu->setObjectName(QStringLiteral("graphMenu"));
  menu->setToolTipsVisible(true);
  back = add(QStringLiteral("graphBack"), tr("Back"), QKeySequence(Qt::ALT | Qt::Key_Left),
             tr("Return to the view before the last jump."));
  forward = add(QStringLiteral("graphForward"), tr("Forward"), QKeySequence(Qt::ALT | Qt::Key_Right),
                tr("Return to the view before going back."));
  goToBlocker =
      add(QStringLiteral("goToBlocker"), tr("Go to the blocker"), {}, tr("Show what blocks the selected LayerNorm."));
  goToBlocker->setShortcut(Qt::Key_G);  // wherever nothing is written: it is used from the list, too
  goToBlocker->setEnabled(false);
  parent->addAction(goToBlocker);
  menu->addSeparator();
  beforeAfter = add(QStringLiteral("beforeAfterAction"), tr("Before or after the plan"), {},
                    tr("Show the model before or after the plan."));
  beforeAfter->setShortcut(Qt::Key_B);  // wherever nothing is written: it is used after Fold, too
  parent->addAction(beforeAfter);
  leftToRight = addSwitch(QStringLiteral("leftToRight"), tr("Left to right"),
                          tr("Draw the data flow to the right instead of down."));
  showHelpers = addSwitch(QStringLiteral("showHelpers"), tr("Show helper nodes"),
                          tr("Show sizes, constants and conversions, which only serve other nodes."));
  foldRepeats = addSwitch(QStringLiteral("foldRepeats"), tr("Equal blocks once, ×N"),
                          tr("Show a row of equal blocks as one block with its count."));
  menu->addSeparator();
  expandAll =
      add(QStringLiteral("expandAll"), tr("Expand all"), QKeySequence(Qt::SHIFT | Qt::Key_E), tr("Open every group."));
  addDepths();
  collapseAll = add(QStringLiteral("collapseAll"), tr("Collapse all"), QKeySequence(Qt::SHIFT | Qt::Key_C),
                    tr("Close every group."));
  resetGroups = add(QStringLiteral("resetGroups"), tr("Reset groups"), {},
                    tr("Open the groups that were open at first, and close the others."));
  menu->addSeparator();
  fit = add(QStringLiteral("fitGraph"), tr("Show everything"), QKeySequence(Qt::Key_0), tr("Zoom to the whole graph."));
  keys = add(QStringLiteral("graphKeys"), tr("Keys and gestures"), QKeySequence(Qt::Key_Question),
             tr("All keys and mouse gestures of the graph."));
  menu->addSeparator();
  saveView = add(QStringLiteral("savePictureOfView"), tr("Save picture of the view…"), {},
                 tr("Write the visible part as SVG, PDF or PNG."));
  saveWhole = add(QStringLiteral("savePictureOfAll"), tr("Save picture of the whole graph…"), {},
                  tr("Write the whole graph, with the groups as shown, as SVG, PDF or PNG."));
  connect(saveView, &QAction::triggered, this, [this] { Q_EMIT pictureWanted(false); });
  connect(saveWhole, &QAction::triggered, this, [this] { Q_EMIT pictureWanted(true); });
  connect(back, &QAction::triggered, view_, &GraphView::goBack);
  connect(forward, &QAction::triggered, view_, &GraphView::goForward);
  connect(expandAll, &QAction::triggered, view_, &GraphView::expandAll);
  connect(collapseAll, &QAction::triggered, view_, &GraphView::collapseAll);
  connect(resetGroups, &QAction::triggered, view_, &GraphView::resetGroups);
  connect(fit, &QAction::triggered, view_, &GraphView::fit);
  connect(keys, &QAction::triggered, view_, &GraphView::toggleKeys);
  for (QAction* action : {leftToRight, showHelpers, foldRepeats})
    connect(action, &QAction::toggled, this, &GraphActions::apply);
  const auto update = [this] {
    back->setEnabled(view_->canGoBack());
    forward->setEnabled(view_->canGoForward());
    for (QAction* save : {saveView, saveWhole}) save->setEnabled(!view_->scene().empty());
  };
  connect(view_, &GraphView::historyChanged, this, update);
  connect(view_, &GraphView::layoutFinished, this, update);
  update();
}

// The keys belong to the graph, which handles them while it has the focus: here they are only shown.
QAction* GraphActions::add(const QString& name, const QString& text, const QKeySequence& shown,
                           const QString& tip) const {
  const QString named = shown.toString(QKeySequence::NativeText);
  QAction* action = menu->addAction(named.isEmpty() ? text : text + u'\t' + named);
  action->setObjectName(name);
  action->setToolTip(tip);
  return action;
}

QAction* GraphActions::addSwitch(const QString& name, const QString& text, const QString& tip) {
  QAction* action = add(name, text, {}, tip);
  action->setCheckable(true);
  return action;
}

void GraphActions::addDepths() {
  constexpr int kDeepest = 4;
  QMenu* depths = menu->addMenu(tr("Expand to depth"));
  depths->setToolTipsVisible(true);
  for (int depth = 1; depth <= kDeepest; ++depth) {
    QAction* action = depths->addAction(tr("%n level(s)", nullptr, depth) + u'\t' + QString::number(depth), view_,
                                        [this, depth] { view_->expandToDepth(depth); });
    action->setObjectName(QStringLiteral("expandToDepth%1").arg(depth));
    action->setToolTip(tr("Open that many levels of groups below the model, and close the others."));
  }
}

void GraphActions::apply() {
  view_->setDirection(leftToRight->isChecked() ? layout::Direction::Right : layout::Direction::Down);
  layout::HierarchyOptions options;
  options.showHelpers = showHelpers->isChecked();
  options.foldRepeats = foldRepeats->isChecked();
  view_->setOptions(options);
}

QList<QAction*> GraphActions::all() const {
  return {back,      forward,     goToBlocker, beforeAfter, leftToRight, showHelpers, foldRepeats,
          expandAll, collapseAll, resetGroups, fit,         keys,        saveView,    saveWhole};
}

void GraphActions::save() const {
  for (const QAction* action : {leftToRight, showHelpers, foldRepeats})
    QSettings().setValue(QStringLiteral("graph/") + action->objectName(), action->isChecked());
}

void GraphActions::restore() {
  for (QAction* action : {leftToRight, showHelpers, foldRepeats})
    action->setChecked(QSettings().value(QStringLiteral("graph/") + action->objectName()).toBool());
}

}  // namespace normlens::ui
