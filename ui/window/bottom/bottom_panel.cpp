#include "ui/window/bottom/bottom_panel.h"

#include <QAbstractItemView>
#include <QCoreApplication>
#include <QEvent>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QTabBar>
#include <algorithm>
#include <optional>

#include "ui/models/plan/variant_table.h"
#include "ui/session/difference_run.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/lesson_link.h"
#include "ui/widgets/room_steps.h"
#include "ui/widgets/segmented.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bench_page.h"
#include "ui/window/bottom/differences_page.h"
#include "ui/window/bottom/pages.h"
#include "ui/window/parts.h"
#include "ui/words/bench_text.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kLeastPage = 127;  // in pixels, at the usual size of text

// As high as the area around it, but at least kLeastPage, whatever height its content would like for its width.
class PageGround final : public QWidget {
 public:
  PageGround(QWidget* content, QWidget* parent) : QWidget(parent), content_(content) {
    content_->setParent(this);
    followText(this, [this] { setMinimumHeight(grown(kLeastPage)); });
  }

 protected:
  void resizeEvent(QResizeEvent*) override { content_->setGeometry(rect()); }

 private:
  QWidget* content_;
};

// The largest of the outputs, in float32 where it was compared.
QString titleOfDifferences(const std::vector<protocol::DiffResult>& columns) {
  const auto single = std::ranges::find(columns, "float32", &protocol::DiffResult::dtype);
  const auto shown = single != columns.end() ? single : columns.begin();
  std::optional<double> most;
  if (shown != columns.end()) {
    for (const protocol::DiffRow& row : shown->rows) {
      if (row.kind == SiteKind::Output) most = std::max(most.value_or(0), row.max_rel);
    }
  }
  return most ? BottomPanel::tr("Differences · %1").arg(formatError(*most)) : BottomPanel::tr("Differences");
}

}  // namespace

BottomPanel::BottomPanel(Session* session, Actions* actions, QWidget* parent) : QFrame(parent), session_(session) {
  describe(this, "panel", {}, tr("Plan, proof, differences and benchmark"));
  auto* layout = makeColumn(this);
  layout->addWidget(makeHeader(actions));
  pages_ = new QStackedWidget(this);
  pages_->setSizePolicy(QSizePolicy::Ignored,
                        QSizePolicy::Ignored);  // no page keeps the window from being made smaller
  // In a low window they scroll below the height that each of them needs.
  QScrollArea* area = makeScrollArea(this, tr("Page of the panel"), Qt::ScrollBarAlwaysOff);
  area->setFocusPolicy(Qt::NoFocus);
  area->setWidget(new PageGround(pages_, area));
  layout->addWidget(area, 1);
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
  connect(session_->differences(), &DifferenceRun::changed, this, &BottomPanel::showSummary);
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
      {tr("Proof"), tr("How much the folded model's outputs differ from the original's.")},
      {tr("Differences"), tr("Where two models diverge, LayerNorm by LayerNorm and precision by precision.")},
      {tr("Benchmark"), tr("How long the original and the folded model take.")}};
  for (const auto& [title, tip] : titles) tabs_->setTabToolTip(tabs_->addTab(title), tip);
  summary_ = new ElidedLabel({}, Qt::ElideRight, header);
  summary_->setProperty("kind", "faint");
  summary_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  planButtons_ = makePlanButtons(actions);
  layoutOf(header)->addWidget(tabs_, 0, Qt::AlignBottom);
  layoutOf(header)->addSpacing(16);
  layoutOf(header)->addWidget(summary_, 1);
  planView_ = describe(new Segmented({{tr("Edits"), tr("The edits of the plan in use.")},
                                      {tr("Variants"), tr("The plans of all policies and your own in one table; "
                                                          "double-click one to use it.")}},
                                     header),
                       "planView", {}, tr("Edits or variants"));
  layoutOf(header)->addSpacing(8);
  layoutOf(header)->addWidget(planView_);
  layoutOf(header)->addWidget(planButtons_);
  layoutOf(header)->addWidget(planMore_);
  room_ = new RoomSteps(header);
  room_->add([this](bool taken) { summary_->setVisible(!taken); });
  room_->add([this](bool taken) {
    planButtonsFold_ = taken;
    showPlanButtons();
  });
  room_->add([this](bool taken) { planView_->setFolded(taken); });
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
  auto* plan = addPage(new QStackedWidget(pages_), "plan");
  plan->addWidget(makePlanPage(
      session_, [this](int node) { Q_EMIT nodeChosen(node); }, plan));
  plan->addWidget(makeVariantsPage(
      session_, [this](const VariantRow& a, const VariantRow& b) { Q_EMIT comparisonWanted(a, b); }, plan));
  connect(planView_, &Segmented::chosen, plan, &QStackedWidget::setCurrentIndex);
  addPage(makeProofPage(
              session_, [this] { Q_EMIT exportAnywayClicked(); }, pages_),
          "proof");
  differences_ = addPage(new DifferencesPage(session_, pages_), "proof");
  addPage(new BenchPage(session_, pages_), "latency");
  connect(differences_, &DifferencesPage::inputsWanted, this, &BottomPanel::inputsWanted);
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
  planView_->setVisible(wanted);
  planButtons_->setVisible(wanted && !planButtonsFold_);
  planMore_->setVisible(wanted && planButtonsFold_);
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

BottomPanel::Tab BottomPanel::tab() const { return static_cast<Tab>(tabs_->currentIndex()); }

// Each with its figure, once there is one.
void BottomPanel::showTitles() {
  const auto& plan = session_->plan();
  const auto& fold = session_->foldResult();
  const auto& bench = session_->measurements()->last();
  const protocol::BenchPoint* first = bench ? firstMeasured(*bench) : nullptr;
  const auto edits = plan ? static_cast<int>(plan->edits.size()) : 0;
  tabs_->setTabText(Plan, edits == 0   ? tr("Plan")
                          : edits == 1 ? tr("Plan · 1 edit")
                                       : tr("Plan · %1 edits").arg(edits));
  tabs_->setTabText(Proof, !fold || !fold->verify         ? tr("Proof")
                           : fold->verify->exact == false ? tr("Proof · outputs differ")
                           : fold->verify->algebra_done
                               ? tr("Proof · %1").arg(formatError(fold->verify->algebra.max_rel))
                               : tr("Proof"));
  tabs_->setTabText(Differences, titleOfDifferences(session_->differences()->columns()));
  tabs_->setTabText(Benchmark,
                    first == nullptr || !first->b || first->crowded
                        ? tr("Benchmark")
                        : tr("Benchmark · %1").arg(first->noise ? tr("no clear gain") : formatRatio(first->speedup)));
}

void BottomPanel::showSummary() {
  showTitles();
  QString summary;
  const auto& plan = session_->plan();
  if (tab() == Plan && plan) {
    QStringList parts;
    if (plan->bytes_centered > 0) parts << tr("%1 rewritten").arg(formatBytes(plan->bytes_centered));
    if (plan->bytes_grown > 0) parts << tr("file grows by %1").arg(formatBytes(plan->bytes_grown));
    // The papers' criterion is no optimum: some of what it folds changes outputs.
    if (!plan->folded.empty() && plan->policy != Policy::Paper) {
      const protocol::PlanParams& chosen = session_->choices()->params();
      const bool byHand = !chosen.keep_norms.empty() || !chosen.keep_values.empty() || !chosen.center_values.empty() ||
                          !chosen.copy_values.empty();
      parts << (plan->gap > 0 ? tr("a better plan may exist")
                : byHand      ? tr("best with your changes")
                              : tr("best plan"));
    }
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
