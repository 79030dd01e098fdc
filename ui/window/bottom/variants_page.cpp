#include <QHeaderView>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/protocol/methods.h"
#include "ui/models/plan/variant_table.h"
#include "ui/session/proofs.h"
#include "ui/session/session.h"
#include "ui/widgets/delegates/figure_delegate.h"
#include "ui/window/bottom/pages.h"
#include "ui/window/parts.h"
#include "ui/words/bench_text.h"
#include "ui/words/plan_mark.h"
#include "ui/words/plan_rows.h"

namespace normlens::ui {
namespace {

constexpr Policy kPolicies[] = {Policy::Free, Policy::Balanced, Policy::All, Policy::Paper};

// The plans of all policies in one table, and the user's own once there was one. A row that is activated becomes the
// plan in use, which Undo takes back; two rows can be shown side by side.
class VariantsPage final : public QWidget {
 public:
  // session: not owned
  VariantsPage(Session* session, CompareVariants compare, QWidget* parent)
      : QWidget(parent), session_(session), compare_(std::move(compare)), table_(new VariantTable(this)) {
    auto* column = makeColumn(this);
    view_ = makeTable("variantTable", tr("Variants of the plan"), kRow, table_, this);
    view_->setItemDelegate(new FigureDelegate(-1, view_));
    view_->horizontalHeader()->setSectionResizeMode(VariantTable::Name, QHeaderView::Stretch);
    setColumnWidths(view_, {{VariantTable::Folded, 80},
                            {VariantTable::Centerings, 90},
                            {VariantTable::Growth, 96},
                            {VariantTable::Rewritten, 90},
                            {VariantTable::Error, 100},
                            {VariantTable::Time, 120},
                            {VariantTable::Speedup, 136}});
    column->addWidget(view_, 1);
    auto* row = makeRow(nullptr, 8, {8, 2, 16, 2});
    side_ = addButton(row, "link", tr("Compare side by side"), "compareVariants", {});
    row->addStretch(1);
    column->addLayout(row);
    connect(side_, &QPushButton::clicked, this, [this] {
      if (const auto pair = chosenPair()) compare_(table_->row(pair->first), table_->row(pair->second));
    });
    connect(view_, &QTableView::activated, this, &VariantsPage::use);
    connect(view_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &VariantsPage::showPair);
    connect(session_, &Session::analysisChanged, this, [this] {
      plans_.clear();
      figures_.clear();
      own_.reset();
      showRows();
    });
    for (const auto signal : {&Session::planChanged, &Session::foldChanged, &Session::jobChanged})
      connect(session_, signal, this, &VariantsPage::showRows);
    connect(session_->measurements(), &Measurements::changed, this, &VariantsPage::showRows);
  }

 protected:
  void showEvent(QShowEvent* event) override {
    QWidget::showEvent(event);
    showRows();
  }

 private:
  static constexpr int kRow = 26;

  [[nodiscard]] const protocol::PlanParams& inUse() const { return session_->choices()->params(); }
  void use(const QModelIndex& at) {
    const VariantRow& row = table_->row(at.row());
    session_->choices()->use(row.params, row.name);
  }
  // Returns what a policy plans by itself, at the prices and limits of the plan in use.
  [[nodiscard]] protocol::PlanParams paramsOf(Policy policy) const {
    protocol::PlanParams params = nothingKept(inUse());
    params.policy = policy;
    params.center_values.clear();
    params.copy_values.clear();
    return params;
  }
  [[nodiscard]] std::vector<VariantRow> variants() const {
    std::vector<VariantRow> all;
    for (const Policy policy : kPolicies) all.push_back({policyTitle(policy), paramsOf(policy)});
    if (own_) all.push_back({tr("Your plan"), *own_});
    for (VariantRow& row : all) row.inUse = samePlan(row.params, inUse());
    return all;
  }
  [[nodiscard]] const protocol::PlanInfo* planOf(const protocol::PlanParams& params) const {
    const auto found = std::ranges::find_if(plans_, [&](const auto& known) { return samePlan(known.first, params); });
    return found == plans_.end() ? nullptr : &found->second;
  }
  // One after another, while the page is looked at and nothing else runs.
  void askNext() {
    if (!isVisible() || question_.pending() || session_->busy() || !session_->analysis() || !session_->served()) return;
    for (const VariantRow& row : variants()) {
      if (planOf(row.params) != nullptr) continue;
      return question_.ask(protocol::methods::kPlan, row.params,
                           [this, params = row.params](const Reply<protocol::PlanInfo>& reply) {
                             if (!reply) return;
                             plans_.emplace_back(params, *reply);
                             showRows();
                           });
    }
  }
  void showRows() {
    if (!session_->analysis()) return;
    if (!samePlan(inUse(), paramsOf(inUse().policy))) own_ = inUse();
    remember();
    if (!isVisible()) return;
    std::vector<VariantRow> rows;
    for (VariantRow& row : variants()) {
      const protocol::PlanInfo* plan = planOf(row.params);
      if (plan == nullptr) continue;
      row.plan = *plan;
      for (const Figures& known : figures_) {
        if (!sameEdits(known.plan, *plan)) continue;
        row.proof = known.proof;
        row.time = known.time;
      }
      rows.push_back(std::move(row));
    }
    table_->show(std::move(rows));
    showPair();
    askNext();
  }
  // Keeps what was planned, proved and measured of the plan in use for as long as the model is analyzed alike.
  void remember() {
    std::erase_if(plans_, [this, all = variants()](const auto& known) {
      return std::ranges::none_of(all, [&](const VariantRow& row) { return samePlan(row.params, known.first); });
    });
    if (session_->plan() && planOf(inUse()) == nullptr) plans_.emplace_back(inUse(), *session_->plan());
    const auto& fold = session_->foldResult();
    if (!fold || !fold->verify) return;
    auto kept = std::ranges::find_if(figures_, [&](const Figures& each) { return sameEdits(each.plan, fold->plan); });
    if (kept == figures_.end()) kept = figures_.insert(kept, {fold->plan, {}, {}});
    kept->proof = fold->verify;
    const auto& last = session_->measurements()->last();
    if (const auto* point = last ? protocol::firstMeasured(*last) : nullptr; point != nullptr && isOfFold(*point))
      kept->time = *point;
  }
  // Two selected rows, or the one in use and another that is selected.
  [[nodiscard]] std::optional<std::pair<int, int>> chosenPair() const {
    std::set<int> rows;
    for (const QModelIndex& at : view_->selectionModel()->selectedRows()) rows.insert(at.row());
    if (const int used = table_->rowWhere([](const VariantRow& row) { return row.inUse; });
        rows.size() == 1 && used >= 0)
      rows.insert(used);
    if (rows.size() != 2) return std::nullopt;
    return std::pair{*rows.begin(), *rows.rbegin()};
  }
  void showPair() {
    const auto pair = chosenPair();
    side_->setEnabled(pair.has_value());
    side_->setText(
        pair ? tr("Compare %1 and %2 side by side").arg(table_->row(pair->first).name, table_->row(pair->second).name)
             : tr("Compare side by side"));
    side_->setToolTip(pair ? tr("Show what each of the two plans makes of the graph.")
                           : tr("Select another plan than the one in use, or two with Ctrl."));
  }

  struct Figures {
    protocol::PlanInfo plan;
    std::optional<protocol::VerifyResult> proof;
    std::optional<protocol::BenchPoint> time;
  };
  Session* session_;  // Not owned.
  CompareVariants compare_;
  VariantTable* table_;
  QTableView* view_;
  QPushButton* side_ = nullptr;
  std::optional<protocol::PlanParams> own_;  // the user's last plan that no policy makes by itself
  std::vector<std::pair<protocol::PlanParams, protocol::PlanInfo>> plans_;
  std::vector<Figures> figures_;
  Question question_{session_->engine(), this};
};

}  // namespace

QWidget* makeVariantsPage(Session* session, CompareVariants compare, QWidget* parent) {
  return new VariantsPage(session, std::move(compare), parent);
}

}  // namespace normlens::ui
