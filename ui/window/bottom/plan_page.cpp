#include "ui/window/bottom/pages.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QStackedLayout>
#include <QTableView>
#include <QWidget>

#include "ui/models/edit_model.h"
#include "ui/session/norm_costs.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/delegates/edit_delegate.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/frame/story.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

std::vector<EditLine> linesOf(const Session& session) {
  std::vector<EditLine> lines;
  for (PlanRow& row : session.planRows()) {
    EditLine line;
    for (const int norm : row.edit.frees.indices(kNamedNorms)) {
      if (const protocol::NormInfo* info = session.norm(norm)) line.norms << text(info->title);
    }
    const std::vector<int> first = row.edit.frees.indices(1);
    if (!first.empty()) line.cost = session.costs()->of(first.front());
    line.row = std::move(row);
    lines.push_back(std::move(line));
  }
  return lines;
}

// The plan as a table of edits: a click shows where in the graph, a tick turns an edit on or off.
class PlanPage final : public QWidget {
 public:
  PlanPage(Session* session, std::function<void(int node)> nodeChosen, QWidget* parent)
      : QWidget(parent), session_(session), nodeChosen_(std::move(nodeChosen)), model_(new EditModel(this)) {
    auto* layout = new QStackedLayout(this);
    empty_ = describe(makeNotice(this), "planEmpty");
    buildTable();
    layout->addWidget(empty_);
    layout->addWidget(table_);
    connect(model_, &EditModel::switched, this, [this](int row, bool on) {
      ticked_ = true;
      session_->choices()->setEditOn(model_->row(row).row.edit, on);
    });
    connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) {
      if (std::exchange(ticked_, false)) return;
      const int node = index.data(EditModel::NodeRole).toInt();
      if (node >= 0) nodeChosen_(node);
    });
    // The preview shows what an edit takes with it before it is left out: the pointer on its tick, or focus on its row.
    table_->setMouseTracking(true);
    table_->viewport()->installEventFilter(this);
    connect(table_, &QTableView::entered, this, [this](const QModelIndex& index) {
      index.column() == EditModel::Kind ? consider(index) : session_->preview()->forget();
    });
    table_->installEventFilter(this);
    connect(session_->preview(), &PlanPreview::changed, this, [this] { model_->setFall(session_->preview()->fall()); });
    connect(session_, &Session::planChanged, this, &PlanPage::showPlan);
    connect(session_, &Session::modelChanged, this, &PlanPage::showPlan);
    connect(session_->costs(), &NormCosts::changed, this, &PlanPage::showPlan);
    connect(session_, &Session::jobChanged, this, &PlanPage::showState);
    showPlan();
  }

 protected:
  void resizeEvent(QResizeEvent* event) override {
    QWidget::resizeEvent(event);
    fitColumns();
  }
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::Leave && watched == table_->viewport()) session_->preview()->forget();
    // A row that gets the focus by a key; for one that a click or a new plan makes current there is no preview.
    if (event->type() == QEvent::KeyRelease && watched == table_) {
      const int key = static_cast<QKeyEvent*>(event)->key();
      if (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown)
        consider(table_->currentIndex());
    }
    return QWidget::eventFilter(watched, event);
  }

 private:
  void buildTable() {
    table_ = makeTable("planTable", tr("Edits of the plan"), 25, model_, this,
                       [this](QMenu* menu, const QModelIndex& at) { extendMenu(menu, at); });
    table_->setItemDelegate(new EditDelegate(table_));
    QHeaderView* header = table_->horizontalHeader();
    header->setSectionResizeMode(QHeaderView::Interactive);
    header->setSectionResizeMode(EditModel::What, QHeaderView::Stretch);
    header->setMinimumSectionSize(60);
    followText(table_, [this] { fitColumns(); });
  }
  // The columns around it give way so far that what an edit does can be read.
  void fitColumns() {
    constexpr int kLeastWhat = 170;
    constexpr std::pair<int, int> kWidths[] = {{EditModel::Kind, 190}, {EditModel::Cost, 170}, {EditModel::Frees, 280}};
    int all = 0;
    for (const auto& [column, wide] : kWidths) all += grown(wide);
    const double share = qBound(0.6, (width() - grown(kLeastWhat)) / static_cast<double>(all), 1.0);
    for (const auto& [column, wide] : kWidths)
      table_->horizontalHeader()->resizeSection(column, static_cast<int>(grown(wide) * share));
  }
  // Previews what would be lost with that edit.
  void consider(const QModelIndex& index) {
    if (!index.isValid()) return;
    const PlanRow& row = model_->row(index.row()).row;
    row.on ? session_->preview()->consider(row.edit) : session_->preview()->forget();
  }
  void showPlan() {
    // While it is planned anew the rows stay: the user may be in the middle of them.
    const bool replanning = !session_->plan() && session_->analysis();
    if (!replanning) model_->setLines(linesOf(*session_));
    showState();
  }
  void showState() {
    const bool planned = session_->plan().has_value();
    if (!planned && !session_->busy()) model_->setLines({});
    const QString never = session_->cannotRun();
    empty_->setText(planned && !never.isEmpty() ? never
                    : planned && session_->analysis()->totals.unknown > 0
                        ? tr("Nothing to fold: no LayerNorm is known to fold, and %1 are not known.")
                              .arg(session_->analysis()->totals.unknown)
                    : planned          ? nothingToFold(*session_)
                    : session_->busy() ? tr("Waiting for the analysis.")
                                       : tr("No plan yet."));
    const bool some = model_->rowCount() > 0;
    static_cast<QStackedLayout*>(layout())->setCurrentWidget(some ? static_cast<QWidget*>(table_) : empty_);
  }
  void extendMenu(QMenu* menu, const QModelIndex& at) {
    if (!at.isValid()) return;
    const PlanRow& row = model_->row(at.row()).row;
    connect(menu->addAction(row.on ? tr("Leave this edit out") : tr("Put this edit back")), &QAction::triggered, this,
            [this, edit = row.edit, on = row.on] { session_->choices()->setEditOn(edit, !on); });
    if (row.edit.node < 0) return;
    connect(menu->addAction(tr("Show in the graph")), &QAction::triggered, this,
            [this, node = row.edit.node] { nodeChosen_(node); });
  }

  Session* session_;  // Not owned.
  std::function<void(int node)> nodeChosen_;
  EditModel* model_;
  QTableView* table_;
  QLabel* empty_;
  bool ticked_ = false;  // the click under way was on a tick
};

}  // namespace

QWidget* makePlanPage(Session* session, std::function<void(int node)> nodeChosen, QWidget* parent) {
  return new PlanPage(session, std::move(nodeChosen), parent);
}

}  // namespace normlens::ui
