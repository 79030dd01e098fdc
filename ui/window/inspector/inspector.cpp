#include "ui/window/inspector/inspector.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QScrollArea>
#include <QStackedWidget>

#include "ui/session/session.h"
#include "ui/session/words/selection_text.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/push_button.h"
#include "ui/widgets/room_steps.h"
#include "ui/window/inspector/model_page.h"
#include "ui/window/inspector/node_page.h"
#include "ui/window/inspector/norm_page.h"
#include "ui/window/parts.h"

namespace normlens::ui {

InspectorPage::InspectorPage(QWidget* owner) : page(owner) {
  auto* outer = makeColumn(owner);
  auto* scroll = new QScrollArea(owner);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFocusPolicy(Qt::NoFocus);
  body = new QWidget(scroll);
  layout = makeColumn(body, 4, {16, 14, 16, 14});
  scroll->setWidget(body);
  outer->addWidget(scroll, 1);
}

ElidedLabel* InspectorPage::addTitle(QBoxLayout* row, Qt::TextElideMode mode) const {
  auto* title = new ElidedLabel({}, mode, body);
  title->setProperty("kind", "title");
  row->addWidget(title, row == layout ? 0 : 1);
  return title;
}

PushButton* InspectorPage::addFooterButton(const QString& text, const char* name) {
  if (footer == nullptr) {
    footer = new QFrame(page);
    footer->setObjectName(QStringLiteral("panelFooter"));
    auto* row = makeRow(footer, 8, {16, 8, 16, 8});
    static_cast<QVBoxLayout*>(page->layout())->addWidget(footer);
    // Buttons that do not fit side by side are put one above the other.
    (new RoomSteps(footer))->add([row](bool taken) {
      row->setDirection(taken ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    });
  }
  auto* button = describe(new PushButton(text, PushButton::Look::Outlined, footer), name);
  layoutOf(footer)->addWidget(button, 1);
  return button;
}

QLabel* addSection(QVBoxLayout* layout, QWidget* title) {
  QWidget* owner = layout->parentWidget();
  auto* row = makeRow(nullptr, -1, {0, 4, 0, 0});
  auto* note = makeLabel({}, "soft", owner);
  row->addWidget(title, 1);
  row->addWidget(note);
  layout->addWidget(makeLine(Qt::Horizontal, owner));
  layout->addLayout(row);
  return note;
}

Inspector::Inspector(Session* session, QWidget* parent) : QFrame(parent), session_(session) {
  setObjectName(QStringLiteral("panel"));
  setAccessibleName(tr("Inspector"));
  auto* layout = makeColumn(this);
  QFrame* header = makeBar(QStringLiteral("panelHeader"), 36, this);
  layoutOf(header)->addWidget(makeLabel(tr("Inspector"), "strong", header));
  layoutOf(header)->addStretch(1);
  auto* copyButton = describe(new IconButton(QStringLiteral("copy"), {}, tr("Copy what is shown here as text"), header),
                              "copyInspector");
  connect(copyButton, &QToolButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(selectionText(*session_)); });
  layoutOf(header)->addWidget(copyButton);
  auto* hideButton = new IconButton(QStringLiteral("panel"), {}, tr("Hide the inspector (Ctrl+I)"), header);
  connect(hideButton, &QToolButton::clicked, this, &Inspector::hideClicked);
  layoutOf(header)->addWidget(hideButton);
  layoutOf(header)->setContentsMargins(16, 0, 10, 0);
  layout->addWidget(header);
  pages_ = new QStackedWidget(this);
  model_ = new ModelPage(session, pages_);
  norm_ = new NormPage(session, pages_);
  node_ = new NodePage(session, pages_);
  for (QWidget* page : std::initializer_list<QWidget*>{model_, norm_, node_}) pages_->addWidget(page);
  layout->addWidget(pages_, 1);
  connect(model_, &ModelPage::modelWanted, this, &Inspector::modelWanted);
  connect(norm_, &NormPage::nodeWanted, this, &Inspector::nodeWanted);
  connect(session_->selection(), &GraphSelection::changed, this, &Inspector::showSelection);
  connect(session_, &Session::analysisChanged, this, &Inspector::showSelection);
  connect(session_, &Session::modelChanged, this, &Inspector::showSelection);
  connect(session_, &Session::planChanged, norm_, &NormPage::refreshPlan);
  connect(session_, &Session::foldChanged, norm_, &NormPage::refreshPlan);
  connect(session_->selection(), &GraphSelection::zeroMeanChanged, norm_, &NormPage::refreshPlan);
}

void Inspector::askCenter(int value) {
  session_->selection()->selectValue(value);
  node_->askCenter(value);
}

void Inspector::foldSelected() {
  if (pages_->currentWidget() == norm_) norm_->foldThis();
}

void Inspector::centerSelected() {
  if (pages_->currentWidget() == norm_) {
    norm_->centerHere();
  } else if (pages_->currentWidget() == node_) {
    node_->centerHere();
  }
}

void Inspector::showSelection() {
  const Selection& selection = session_->selection()->current();
  if (selection.norm >= 0 && session_->norm(selection.norm) != nullptr) {
    norm_->showNorm(selection.norm);
    pages_->setCurrentWidget(norm_);
  } else if (selection.node >= 0) {
    node_->showNode(selection.node);
    pages_->setCurrentWidget(node_);
  } else if (selection.value >= 0) {
    node_->showValue(selection.value);
    pages_->setCurrentWidget(node_);
  } else {
    model_->showModel();
    pages_->setCurrentWidget(model_);
  }
  // A page that is no longer looked at need not read its figures to the end.
  if (pages_->currentWidget() != norm_) norm_->leave();
  if (pages_->currentWidget() != node_) node_->leave();
}

}  // namespace normlens::ui
