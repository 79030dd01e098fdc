#include "ui/window/workspace/workspace.h"

#include <QSettings>
#include <QSplitter>
#include <QVBoxLayout>

#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/frame/norm_panel.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/workspace/graph_actions.h"
#include "ui/window/workspace/graph_pane.h"

namespace normlens::ui {

namespace {

QSplitter* makeSplitter(Qt::Orientation orientation, QWidget* parent) {
  auto* splitter = new QSplitter(orientation, parent);
  splitter->setHandleWidth(1);
  splitter->setChildrenCollapsible(false);
  return splitter;
}

}  // namespace

Workspace::Workspace(Session* session, Actions* actions, QWidget* parent) : QWidget(parent) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  across_ = makeSplitter(Qt::Horizontal, this);
  down_ = makeSplitter(Qt::Vertical, across_);
  upper_ = makeSplitter(Qt::Horizontal, down_);
  norms_ = new NormPanel(session, upper_);
  graph_ = new GraphPane(session, upper_);
  bottom_ = new BottomPanel(session, actions, down_);
  inspector_ = new Inspector(session, across_);
  norms_->setMinimumWidth(200);
  inspector_->setMinimumWidth(260);
  bottom_->setMinimumHeight(120);
  graph_->setMinimumSize(240, 160);
  upper_->addWidget(norms_);
  upper_->addWidget(graph_);
  down_->addWidget(upper_);
  down_->addWidget(bottom_);
  across_->addWidget(down_);
  across_->addWidget(inspector_);
  upper_->setStretchFactor(0, 0);
  upper_->setStretchFactor(1, 1);
  down_->setStretchFactor(0, 1);
  down_->setStretchFactor(1, 0);
  across_->setStretchFactor(0, 1);
  across_->setStretchFactor(1, 0);
  upper_->setSizes({264, 855});
  down_->setSizes({544, 236});
  across_->setSizes({1120, 320});
  layout->addWidget(across_);
}

void Workspace::saveSizes() const {
  QSettings settings;
  settings.setValue(QStringLiteral("window/across"), across_->saveState());
  settings.setValue(QStringLiteral("window/down"), down_->saveState());
  settings.setValue(QStringLiteral("window/upper"), upper_->saveState());
  graph_->actions()->save();
}

void Workspace::restoreSizes() {
  const QSettings settings;
  across_->restoreState(settings.value(QStringLiteral("window/across")).toByteArray());
  down_->restoreState(settings.value(QStringLiteral("window/down")).toByteArray());
  upper_->restoreState(settings.value(QStringLiteral("window/upper")).toByteArray());
  for (QSplitter* splitter : {across_, down_, upper_}) splitter->setHandleWidth(1);
  graph_->actions()->restore();
}

}  // namespace normlens::ui
