#include <QHeaderView>
#include <QTableView>
#include <QVBoxLayout>
#include <map>

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

constexpr Policy kVariants[] = {Policy::Free, Policy::Balanced, Policy::All, Policy::Paper};

// The plans of all policies in one table. A row that is activated becomes the plan in use, which Undo takes back.
class VariantsPage final : public QWidget {
 public:
  // session: not owned
  VariantsPage(Session* session, QWidget* parent) : QWidget(parent), session_(session), table_(new VariantTable(this)) {
    auto* column = makeColumn(this);
    view_ = makeTable("variantTable", tr("Variants of the plan"), kRow, table_, this);
    view_->setItemDelegate(new FigureDelegate(-1, view_));
    view_->horizontalHeader()->setSectionResizeMode(VariantTable::Name, QHeaderView::Stretch);
    setColumnWidths(view_, {{VariantTable::Folded, 90},
                            {VariantTable::Centerings, 90},
                            {VariantTable::Growth, 100},
                            {VariantTable::Rewritten, 90},
                            {VariantTable::Error, 110},
                            {VariantTable::Time, 220}});
    column->addWidget(view_);
    connect(view_, &QTableView::activated, this, &VariantsPage::use);
    connect(session_, &Session::analysisChanged, this, [this] {
      plans_.clear();
      figures_.clear();
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

  void use(const QModelIndex& at) { session_->choices()->setPolicy(table_->row(at.row()).policy); }
  // One after another, while the page is looked at and nothing else runs.
  void askNext() {
    if (!isVisible() || question_.pending() || session_->busy() || !session_->analysis() || !session_->served()) return;
    for (const Policy policy : kVariants) {
      if (plans_.contains(policy)) continue;
      return question_.ask(protocol::methods::kPlan, paramsOf(policy),
                           [this, policy](const Reply<protocol::PlanInfo>& reply) {
                             if (!reply) return;
                             plans_[policy] = *reply;
                             showRows();
                           });
    }
  }
  // The plan in use with this policy in its place: what else the user chose holds for every variant.
  [[nodiscard]] protocol::PlanParams paramsOf(Policy policy) const {
    protocol::PlanParams params = session_->choices()->params();
    params.policy = policy;
    return params;
  }
  void showRows() {
    if (!samePlan(paramsOf(Policy::Free), madeFor_)) {  // another norm kept, another value centered
      question_.drop();
      plans_.clear();
      figures_.clear();
      madeFor_ = paramsOf(Policy::Free);
    }
    remember();
    if (!isVisible()) return;
    std::vector<VariantRow> rows;
    for (const auto& [policy, plan] : plans_) {
      VariantRow row{policyTitle(policy), policy, plan};
      row.inUse = policy == session_->choices()->params().policy;
      for (const auto& [other, known] : figures_) {
        if (!known.proof || !sameEdits(known.plan, plan)) continue;
        row.proof = known.proof;
        row.time = known.time;
      }
      rows.push_back(std::move(row));
    }
    table_->show(std::move(rows));
    askNext();
  }
  // Keeps what was proved and measured of the plan in use for as long as the model is analyzed alike.
  void remember() {
    const auto& fold = session_->foldResult();
    if (!fold || !fold->verify) return;
    VariantRow& kept = figures_[fold->plan.policy];
    if (!sameEdits(kept.plan, fold->plan)) kept = {};
    kept.plan = fold->plan;
    kept.proof = fold->verify;
    const auto& last = session_->measurements()->last();
    if (const auto* point = last ? protocol::firstMeasured(*last) : nullptr; point != nullptr && isOfFold(*point))
      kept.time = *point;
  }

  Session* session_;  // Not owned.
  VariantTable* table_;
  QTableView* view_;
  protocol::PlanParams madeFor_;  // with Policy::Free in the policy's place
  std::map<Policy, protocol::PlanInfo> plans_;
  std::map<Policy, VariantRow> figures_;
  Question question_{session_->engine(), this};
};

}  // namespace

QWidget* makeVariantsPage(Session* session, QWidget* parent) { return new VariantsPage(session, parent); }

}  // namespace normlens::ui
