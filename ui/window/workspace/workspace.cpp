#include "ui/window/workspace/workspace.h"

#include <QSettings>
#include <QSplitter>

#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/frame/norm_panel.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/graph_actions.h"
#include "ui/window/workspace/graph_pane.h"

namespace normlens::ui {

Workspace::Workspace(Session* session, Actions* actions, QWidget* parent) : QWidget(parent) {
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
  upper_->setStretchFactor(1, 1);
  down_->setStretchFactor(0, 1);
  across_->setStretchFactor(0, 1);
  upper_->setSizes({264, 855});
  down_->setSizes({544, 236});
  across_->setSizes({1120, 320});
  makeColumn(this)->addWidget(across_);
}

void Workspace::saveSizes() const {
  for (const auto& [key, splitter] : splitters()) QSettings().setValue(key, splitter->saveState());
  graph_->actions()->save();
}

void Workspace::restoreSizes() {
  for (const auto& [key, splitter] : splitters()) {
    splitter->restoreState(QSettings().value(key).toByteArray());
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
