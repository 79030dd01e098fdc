#include "ui/window/workspace/workspace.h"

#include <QAction>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>

#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/bottom/learn_page.h"
#include "ui/window/bottom/pages.h"
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
              kLeastBottom = 132;

}  // namespace

Workspace::Workspace(Session* session, Actions* actions, QWidget* parent) : QWidget(parent), actions_(actions) {
  across_ = makeSplitter(Qt::Horizontal, this);
  down_ = makeSplitter(Qt::Vertical, across_);
  upper_ = makeSplitter(Qt::Horizontal, down_);
  norms_ = new NormPanel(session, upper_);
  graph_ = new GraphPane(session, upper_);
  places_ = new QStackedWidget(upper_);
  places_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
  sheet_ = new ExportSheet(session, places_);
  places_->addWidget(makePlace(tr("LayerNorms"), makeNormTablePage(session, places_)));
  places_->addWidget(makePlace(tr("Inputs"), makeInputsPage(session, places_)));
  places_->addWidget(sheet_);
  bottom_ = new BottomPanel(session, actions, down_);
  inspector_ = new Inspector(session, across_);
  words_ = new LearnPage(across_);
  wordsFrame_ = makePlace(tr("Words"), words_);
  followText(this, [this] {
    norms_->setMinimumWidth(grown(kLeastNorms));
    inspector_->setMinimumWidth(grown(kLeastInspector));
    wordsFrame_->setMinimumWidth(grown(kLeastInspector));
    bottom_->setMinimumHeight(grown(kLeastBottom));
    arrange();
  });
  graph_->setMinimumSize(220, 134);
  upper_->addWidget(norms_);
  upper_->addWidget(graph_);
  upper_->addWidget(places_);
  upper_->setStretchFactor(2, 1);
  connect(norms_, &NormPanel::tableWanted, this, [this] { showPlace(Place::Norms); });
  connect(sheet_, &ExportSheet::closed, this, &Workspace::stepBack);
  connect(session, &Session::leaving, this, [this] { showPlace(Place::Graph); });
  for (QAction* toggle : {actions->toggleInspector, actions->toggleBottom})
    connect(toggle, &QAction::toggled, this, &Workspace::showParts);
  down_->addWidget(upper_);
  down_->addWidget(bottom_);
  across_->addWidget(down_);
  across_->addWidget(inspector_);
  across_->addWidget(wordsFrame_);
  upper_->setStretchFactor(1, 1);
  down_->setStretchFactor(0, 1);
  across_->setStretchFactor(0, 1);
  for (QSplitter* splitter : {across_, down_, upper_}) {
    connect(splitter, &QSplitter::splitterMoved, this, [this] { arranged_ = true; });
  }
  makeColumn(this)->addWidget(across_);
  showParts();
}

// Makes the panels as wide as their text wants them, but never so wide that the graph has no room.
void Workspace::arrange() {
  if (arranged_ || width() == 0 || place_ != Place::Graph || graphOnly_) return;
  const auto share = [](int whole, double part, int least, int wanted) {
    return qBound(grown(least), static_cast<int>(whole * part), qMax(grown(least), grown(wanted)));
  };
  const int inspector = share(width(), 0.25, kLeastInspector, kInspector);
  const int norms = share(width(), 0.2, kLeastNorms, kNorms);
  const int bottom = share(height(), 0.33, kLeastBottom, kBottom);
  across_->setSizes({width() - inspector, inspector, 0});
  upper_->setSizes({norms, width() - inspector - norms, 0});
  down_->setSizes({height() - bottom, bottom});
}

// A bar with the title and a button that closes it, and the content below.
QWidget* Workspace::makePlace(const QString& title, QWidget* content) {
  auto* frame = new QFrame(content->parentWidget());
  frame->setObjectName(QStringLiteral("place"));
  auto* column = makeColumn(frame);
  QFrame* head = makeBar(QStringLiteral("panelHeader"), 36, frame);
  layoutOf(head)->setContentsMargins(16, 0, 12, 0);
  layoutOf(head)->addWidget(makeLabel(title, "section", head));
  layoutOf(head)->addStretch(1);
  auto* close = new IconButton(QStringLiteral("close"), {}, tr("Close %1 (Esc)").arg(title), head);
  layoutOf(head)->addWidget(close);
  connect(close, &QToolButton::clicked, this, &Workspace::stepBack);
  column->addWidget(head);
  column->addWidget(content, 1);
  return frame;
}

void Workspace::showPlace(Place place) {
  place_ = place;
  if (place != Place::Graph) {
    graphOnly_ = wordsShown_ = false;
    places_->setCurrentIndex(static_cast<int>(place) - 1);
  }
  showParts();
}

void Workspace::showSheet(ExportSheet::Kind kind) {
  showPlace(Place::Export);
  sheet_->open(kind);
}

void Workspace::showWords(const QString& name) {
  words_->showLesson(name);
  wordsShown_ = true;
  graphOnly_ = false;
  showParts();
}

void Workspace::hideWords() {
  wordsShown_ = false;
  showParts();
}

void Workspace::setGraphOnly(bool only) {
  graphOnly_ = only;
  if (only) place_ = Place::Graph;
  showParts();
}

bool Workspace::stepBack() {
  if (wordsShown_) {
    hideWords();
  } else if (place_ != Place::Graph) {
    showPlace(Place::Graph);
  } else if (graphOnly_) {
    setGraphOnly(false);
  } else {
    return false;
  }
  return true;
}

void Workspace::showParts() {
  const int left = norms_->isVisible() ? norms_->width() : 0;
  const int side = inspector_->isVisible() ? inspector_->width() : wordsFrame_->isVisible() ? wordsFrame_->width() : 0;
  const bool graph = place_ == Place::Graph, table = place_ == Place::Norms;
  graph_->setVisible(graph);
  places_->setVisible(!graph);
  norms_->setVisible(!graphOnly_ && !table);
  bottom_->setVisible(graph && !graphOnly_ && actions_->toggleBottom->isChecked());
  wordsFrame_->setVisible(wordsShown_);
  inspector_->setVisible((graph || table) && !graphOnly_ && !wordsShown_ && actions_->toggleInspector->isChecked());
  if (left > 0) leftWidth_ = left;
  if (side > 0) sideWidth_ = side;
  if (const int aside = qMax(sideWidth_, grown(kInspector)); wordsShown_) {
    across_->setSizes({width() - aside, 0, aside});
  } else if (side > 0 && inspector_->isVisible()) {
    across_->setSizes({width() - sideWidth_, sideWidth_, 0});
  }
  const int norms = norms_->isHidden() ? 0 : leftWidth_, rest = upper_->width() - norms;
  if (leftWidth_ > 0) upper_->setSizes({norms, graph ? rest : 0, graph ? 0 : rest});
  Q_EMIT arranged();
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
