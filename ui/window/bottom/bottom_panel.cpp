#include "ui/window/bottom/bottom_panel.h"

#include <QAbstractItemView>
#include <QCoreApplication>
#include <QEvent>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStackedWidget>
#include <QTabBar>
#include <QTime>

#include "ui/session/session.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/lesson_link.h"
#include "ui/widgets/room_steps.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bench_page.h"
#include "ui/window/bottom/differences_page.h"
#include "ui/window/bottom/learn_page.h"
#include "ui/window/bottom/pages.h"
#include "ui/window/parts.h"
#include "ui/words/bench_text.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kMostLogLines = 5000;

}  // namespace

BottomPanel::BottomPanel(Session* session, Actions* actions, QWidget* parent) : QFrame(parent), session_(session) {
  describe(this, "panel", {}, tr("Plan, proof, benchmark and log"));
  auto* layout = makeColumn(this);
  layout->addWidget(makeHeader(actions));
  pages_ = new QStackedWidget(this);
  pages_->setSizePolicy(QSizePolicy::Ignored,
                        QSizePolicy::Ignored);  // no page keeps the window from being made smaller
  layout->addWidget(pages_, 1);
  addPages();
  connect(tabs_, &QTabBar::currentChanged, this, [this](int index) {
    pages_->setCurrentIndex(index);
    showSummary();
  });
  for (const auto signal :
       {&Session::planChanged, &Session::foldChanged, &Session::modelChanged, &Session::analysisChanged}) {
    connect(session_, signal, this, &BottomPanel::showSummary);
  }
  connect(session_->measurements(), &Measurements::changed, this, &BottomPanel::showSummary);
  showSummary();
}

QWidget* BottomPanel::makeHeader(Actions* actions) {
  QFrame* header = makeBar(QStringLiteral("panelHeader"), 36, this);
  layoutOf(header)->setContentsMargins(0, 0, 16, 0);
  tabs_ = describe(new QTabBar(header), "bottomTabs");
  tabs_->setExpanding(false);
  tabs_->setUsesScrollButtons(false);
  const QPair<QString, QString> titles[] = {
      {tr("Plan"), tr("The edits, in the order in which they are applied. Clear a box to leave one out.")},
      {tr("LayerNorms"), tr("All LayerNorms as a table: sort, filter, group, copy.")},
      {tr("Inputs"), tr("The inputs of the model. Set or load your own.")},
      {tr("Proof"), tr("How much the folded model's outputs differ from the original's.")},
      {tr("Differences"), tr("Where two models diverge, LayerNorm by LayerNorm and precision by precision.")},
      {tr("Benchmark"), tr("How long the original and the folded model take.")},
      {tr("Learn"), tr("How the method works, in short lessons. F1 opens the lesson about what is under the pointer.")},
      {tr("Log"), tr("The engine's messages.")}};
  for (const auto& [title, tip] : titles) tabs_->setTabToolTip(tabs_->addTab(title), tip);
  summary_ = new ElidedLabel({}, Qt::ElideRight, header);
  summary_->setProperty("kind", "faint");
  summary_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  planButtons_ = makePlanButtons(actions);
  layoutOf(header)->addWidget(tabs_, 0, Qt::AlignBottom);
  layoutOf(header)->addSpacing(16);
  layoutOf(header)->addWidget(summary_, 1);
  layoutOf(header)->addWidget(planButtons_);
  layoutOf(header)->addWidget(planMore_);
  room_ = new RoomSteps(header);
  room_->add([this](bool taken) { summary_->setVisible(!taken); });
  room_->add([this](bool taken) {
    planButtonsFold_ = taken;
    showPlanButtons();
  });
  room_->add([this](bool taken) {
    setKind(tabs_, taken ? "tight" : "");
    QEvent restyled(QEvent::StyleChange);  // the tabs measure themselves anew
    QCoreApplication::sendEvent(tabs_, &restyled);
  });
  room_->add([this](bool taken) { tabs_->setUsesScrollButtons(taken); });
  return header;
}

// Adds the pages in the order of Tab.
void BottomPanel::addPages() {
  const auto addPage = [this](auto* page, const char* lesson) {
    pages_->addWidget(page);
    if (lesson != nullptr) linkLesson(page, lesson);
    return page;
  };
  addPage(makePlanPage(
              session_, [this](int node) { Q_EMIT nodeChosen(node); }, pages_),
          "plan");
  addPage(makeNormTablePage(session_, pages_), "zero_mean");
  addPage(makeInputsPage(session_, pages_), nullptr);
  addPage(makeProofPage(
              session_, [this] { Q_EMIT exportAnywayClicked(); }, pages_),
          "proof");
  differences_ = addPage(new DifferencesPage(session_, pages_), "proof");
  addPage(new BenchPage(session_, pages_), "latency");
  learn_ = addPage(new LearnPage(pages_), nullptr);
  log_ = addPage(makeLog(), nullptr);
  connect(learn_, &LearnPage::lessonWanted, this, &BottomPanel::lessonWanted);
  connect(differences_, &DifferencesPage::inputsWanted, this, [this] { showTab(Inputs); });
}

QWidget* BottomPanel::makePlanButtons(Actions* actions) {
  auto* row = new QWidget(this);
  auto* layout = makeRow(row, 2, {12, 0, 0, 0});
  for (QAction* action : {actions->suggestBest, actions->foldAll, actions->resetPlan}) {
    auto* button = makeButton(action->text(), "link", row);
    followAction(button, action);
    layout->addWidget(button);
  }
  auto* menu = new QMenu(this);
  menu->addActions({actions->suggestBest, actions->foldAll, actions->resetPlan});
  planMore_ = describe(new IconButton(QStringLiteral("more"), {}, tr("Change the plan as a whole."), this), "planMore");
  planMore_->setMenu(menu);
  planMore_->setPopupMode(QToolButton::InstantPopup);
  return row;
}

void BottomPanel::showPlanButtons() {
  const bool wanted = tab() == Plan && session_->analysis().has_value();
  planButtons_->setVisible(wanted && !planButtonsFold_);
  planMore_->setVisible(wanted && planButtonsFold_);
}

QPlainTextEdit* BottomPanel::makeLog() {
  auto* log = describe(new QPlainTextEdit(pages_), "log", {}, tr("Log"));
  log->setReadOnly(true);
  log->setMaximumBlockCount(kMostLogLines);
  log->setTabChangesFocus(true);
  log->document()->setDocumentMargin(12);
  log->setPlaceholderText(tr("The log is empty."));
  return log;
}

void BottomPanel::log(const QString& line) {
  log_->appendPlainText(QStringLiteral("%1  %2").arg(QTime::currentTime().toString(QStringLiteral("HH:mm:ss")), line));
}

void BottomPanel::showTab(Tab tab) { tabs_->setCurrentIndex(tab); }

void BottomPanel::focusTab() {
  for (auto* view : pages_->currentWidget()->findChildren<QAbstractItemView*>()) {
    if (!view->isVisible()) continue;
    view->setFocus(Qt::ShortcutFocusReason);
    return;
  }
  tabs_->setFocus(Qt::ShortcutFocusReason);
}

void BottomPanel::showLesson(const QString& name) {
  learn_->showLesson(name);
  showTab(Learn);
}

BottomPanel::Tab BottomPanel::tab() const { return static_cast<Tab>(tabs_->currentIndex()); }

void BottomPanel::showSummary() {
  QString summary;
  const auto& plan = session_->plan();
  if (tab() == Plan && plan) {
    QStringList parts;
    parts << tr("%1 rewritten").arg(formatBytes(plan->bytes_centered));
    if (plan->bytes_grown > 0) parts << tr("file grows by %1").arg(formatBytes(plan->bytes_grown));
    // The papers' criterion is no optimum: some of what it folds changes outputs.
    if (!plan->folded.empty() && plan->policy != Policy::Paper)
      parts << (plan->gap == 0 ? tr("best plan") : tr("a better plan may exist"));
    summary = parts.join(QStringLiteral(" · "));
  } else if (tab() == Benchmark && session_->measurements()->last()) {
    summary = tr("on %1 · alternating rounds, same inputs").arg(deviceName(*session_->measurements()->last()));
  } else if (tab() == Differences && session_->foldResult()) {
    summary = tr("both models on the same inputs");
  } else if (tab() == Proof && session_->foldResult()) {
    summary = tr("original against folded, same plan, same inputs");
  }
  summary_->setFullText(summary);
  showPlanButtons();
  room_->fit();
}

}  // namespace normlens::ui
