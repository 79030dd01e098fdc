#include "ui/window/workspace/workspace.h"

#include <QAction>
#include <QSettings>
#include <QSplitter>

#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/export/export_sheet.h"
#include "ui/window/frame/norm_panel.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/graph_actions.h"
#include "ui/window/workspace/graph_pane.h"

namespace normlens::ui {

namespace {

// All in pixels, at the usual size of text.
constexpr int kNorms = 264, kLeastNorms = 236, kInspector = 320, kLeastInspector = 260, kBottom = 264,
              kLeastBottom = 156;

}  // namespace

Workspace::Workspace(Session* session, Actions* actions, QWidget* parent) : QWidget(parent), actions_(actions) {
  across_ = makeSplitter(Qt::Horizontal, this);
  down_ = makeSplitter(Qt::Vertical, across_);
  upper_ = makeSplitter(Qt::Horizontal, down_);
  norms_ = new NormPanel(session, upper_);
  graph_ = new GraphPane(session, upper_);
  sheet_ = new ExportSheet(session, upper_);
  sheet_->hide();
  bottom_ = new BottomPanel(session, actions, down_);
  inspector_ = new Inspector(session, across_);
  followText(this, [this] {
    norms_->setMinimumWidth(grown(kLeastNorms));
    inspector_->setMinimumWidth(grown(kLeastInspector));
    bottom_->setMinimumHeight(grown(kLeastBottom));
    arrange();
  });
  graph_->setMinimumSize(220, 134);
  upper_->addWidget(norms_);
  upper_->addWidget(graph_);
  upper_->addWidget(sheet_);
  upper_->setStretchFactor(2, 1);
  connect(sheet_, &ExportSheet::closed, this, &Workspace::hideSheet);
  connect(session, &Session::leaving, this, &Workspace::hideSheet);
  down_->addWidget(upper_);
  down_->addWidget(bottom_);
  across_->addWidget(down_);
  across_->addWidget(inspector_);
  upper_->setStretchFactor(1, 1);
  down_->setStretchFactor(0, 1);
  across_->setStretchFactor(0, 1);
  for (QSplitter* splitter : {across_, down_, upper_}) {
    connect(splitter, &QSplitter::splitterMoved, this, [this] { arranged_ = true; });
  }
  makeColumn(this)->addWidget(across_);
}

// Makes the panels as wide as their text wants them, but never so wide that the graph has no room.
void Workspace::arrange() {
  if (arranged_ || width() == 0 || !sheet_->isHidden()) return;
  const auto share = [](int whole, double part, int least, int wanted) {
    return qBound(grown(least), static_cast<int>(whole * part), qMax(grown(least), grown(wanted)));
  };
  const int inspector = share(width(), 0.25, kLeastInspector, kInspector);
  const int norms = share(width(), 0.2, kLeastNorms, kNorms);
  const int bottom = share(height(), 0.33, kLeastBottom, kBottom);
  across_->setSizes({width() - inspector, inspector});
  upper_->setSizes({norms, width() - inspector - norms, 0});
  down_->setSizes({height() - bottom, bottom});
}

void Workspace::showSheet(ExportSheet::Kind kind) {
  const int norms = norms_->width();
  for (QWidget* away :
       {static_cast<QWidget*>(graph_), static_cast<QWidget*>(bottom_), static_cast<QWidget*>(inspector_)}) {
    away->hide();
  }
  sheet_->show();
  upper_->setSizes({norms, 0, width() - norms});
  sheet_->open(kind);
}

void Workspace::hideSheet() {
  if (sheet_->isHidden()) return;
  const int norms = norms_->width();
  sheet_->hide();
  graph_->show();
  bottom_->setVisible(actions_->toggleBottom->isChecked());
  inspector_->setVisible(actions_->toggleInspector->isChecked());
  upper_->setSizes({norms, width() - norms, 0});
}

void Workspace::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

void Workspace::saveSizes() const {
  for (const auto& [key, splitter] : splitters()) QSettings().setValue(key, splitter->saveState());
  graph_->actions()->save();
}

void Workspace::restoreSizes() {
  for (const auto& [key, splitter] : splitters()) {
    arranged_ = splitter->restoreState(QSettings().value(key).toByteArray()) || arranged_;
    splitter->setHandleWidth(1);
  }
  graph_->actions()->restore();
}

std::array<std::pair<QString, QSplitter*>, 3> Workspace::splitters() const {
  return {{{QStringLiteral("window/across"), across_},
           {QStringLiteral("window/down"), down_},
           {QStringLiteral("window/upper"), upper_}}};
}

}  // namespace normlens::ui
