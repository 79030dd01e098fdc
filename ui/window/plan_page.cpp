#include "ui/window/plan_page.h"

#include <QHeaderView>
#include <QLabel>
#include <QStackedLayout>
#include <QTableView>

#include "ui/models/edit_model.h"
#include "ui/session/session.h"
#include "ui/widgets/edit_delegate.h"
#include "ui/widgets/frames.h"

namespace normlens::ui {

PlanPage::PlanPage(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), model_(new EditModel(this)) {
  auto* layout = new QStackedLayout(this);
  empty_ = makeLabel({}, "faint", this);
  empty_->setAlignment(Qt::AlignCenter);
  table_ = new QTableView(this);
  table_->setObjectName(QStringLiteral("planTable"));
  table_->setAccessibleName(tr("Edits of the plan"));
  table_->setModel(model_);
  table_->setItemDelegate(new EditDelegate(table_));
  table_->setShowGrid(false);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->setTabKeyNavigation(false);
  table_->setWordWrap(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(25);
  QHeaderView* header = table_->horizontalHeader();
  header->setHighlightSections(false);
  header->setSectionResizeMode(QHeaderView::Interactive);
  header->setSectionResizeMode(EditModel::What, QHeaderView::Stretch);
  header->resizeSection(EditModel::Kind, 204);
  header->resizeSection(EditModel::Bytes, 90);
  header->resizeSection(EditModel::Grows, 90);
  header->resizeSection(EditModel::Frees, 90);
  layout->addWidget(empty_);
  layout->addWidget(table_);
  connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) {
    const int node = index.data(EditModel::NodeRole).toInt();
    if (node >= 0) Q_EMIT nodeChosen(node);
  });
  connect(session_, &Session::planChanged, this, &PlanPage::showPlan);
  connect(session_, &Session::modelChanged, this, &PlanPage::showPlan);
  connect(session_, &Session::jobChanged, this, &PlanPage::showPlan);
  showPlan();
}

void PlanPage::showPlan() {
  const auto& plan = session_->plan();
  const bool some = plan && !plan->edits.empty();
  if (some || model_->rowCount() > 0) model_->setEdits(some ? plan->edits : std::vector<protocol::EditInfo>());
  if (plan) {
    empty_->setText(tr("With this policy there is nothing to edit: no LayerNorm folds."));
  } else {
    empty_->setText(session_->busy() ? tr("The plan comes after the analysis.") : tr("No plan yet."));
  }
  static_cast<QStackedLayout*>(layout())->setCurrentWidget(some ? static_cast<QWidget*>(table_) : empty_);
}

}  // namespace normlens::ui
