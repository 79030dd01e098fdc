// The plan as a panel and the table of LayerNorms, by clicks and keys.
#include <QCheckBox>
#include <QClipboard>
#include <QHeaderView>
#include <QMenu>
#include <QPushButton>
#include <QSet>
#include <QTableView>
#include <QToolButton>
#include <algorithm>

#include "tests/support/wait_for_layout.h"
#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/graphview/graph_view.h"
#include "ui/models/edit_model.h"
#include "ui/models/norm_table.h"
#include "ui/models/plan/variant_table.h"
#include "ui/session/plan_preview.h"
#include "ui/widgets/delegates/edit_delegate.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/segmented.h"
#include "ui/window/actions.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/workspace/changes/change_table.h"
#include "ui/window/workspace/compare_view.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

namespace {

QTableView* planTable(Shown& shown) { return shown.child<QTableView>("planTable"); }

int rowOf(const QAbstractItemModel& model, const QString& what, int column = EditModel::What) {
  for (int row = 0; row < model.rowCount(); ++row) {
    if (model.index(row, column).data().toString() == what) return row;
  }
  return -1;
}

bool isOn(const QTableView* table, int row) {
  return table->model()->index(row, EditModel::Kind).data(Qt::CheckStateRole).toInt() == Qt::Checked;
}

void clickTick(QTableView* table, int row) {
  const QModelIndex at = table->model()->index(row, EditModel::Kind);
  table->scrollTo(at);
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, EditDelegate::tickArea(table->visualRect(at)).center());
}

// The entry of the context menu that opens at a row.
void chooseInMenu(QTableView* table, int row, const char* menuName, const char* entry) {
  const QModelIndex at = table->model()->index(row, 1);
  Q_EMIT table->customContextMenuRequested(table->visualRect(at).center());
  auto* menu = table->window()->findChild<QMenu*>(QLatin1String(menuName));
  QVERIFY(menu != nullptr);
  auto* action = menu->findChild<QAction*>(QLatin1String(entry));
  QVERIFY(action != nullptr);
  action->trigger();
  menu->close();
}

}  // namespace

class TestPlanPanel final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  void init() { QGuiApplication::clipboard()->clear(); }

  void thePlansOfAllPoliciesAreInOneTable() {
    Shown shown(test::modelFile(folder_, QStringLiteral("bert.pt")));
    auto* view = shown.child<Segmented>("planView");
    QTest::mouseClick(view, Qt::LeftButton, {}, QPoint(view->width() * 3 / 4, view->height() / 2));
    auto* table = shown.child<QTableView>("variantTable");
    QTRY_COMPARE(table->model()->rowCount(), 4);
    const auto cell = [table](int row, int column) { return table->model()->index(row, column).data().toString(); };
    const auto inUse = [&] {
      QStringList rows;
      for (int row = 0; row < table->model()->rowCount(); ++row) {
        if (cell(row, VariantTable::Name).startsWith(u'●')) rows << cell(row, VariantTable::Name);
      }
      return rows.join(u'|');
    };
    QVERIFY2(inUse().startsWith(QStringLiteral("● Balanced")), qPrintable(inUse()));
    QCOMPARE(cell(1, VariantTable::Error), QStringLiteral("–"));
    BottomPanel* bottom = shown.window.workspace()->bottom();
    shown.fold();  // leads to the proof
    bottom->showTab(BottomPanel::Plan);
    QTRY_VERIFY(cell(1, VariantTable::Error) != QStringLiteral("–"));
    QCOMPARE(cell(1, VariantTable::Time), QStringLiteral("–"));
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last() && !shown.session.busy());
    bottom->showTab(BottomPanel::Plan);
    QTRY_VERIFY(cell(1, VariantTable::Time) != QStringLiteral("–"));
    // Another one by a key; what is known of the first stays.
    table->setCurrentIndex(table->model()->index(2, 0));
    QTest::keyClick(table, Qt::Key_Return);
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->policy == Policy::All);
    QTRY_VERIFY(cell(2, VariantTable::Name).startsWith(u'●'));
    QVERIFY(cell(1, VariantTable::Time) != QStringLiteral("–"));
    // Keeping a norm makes a plan of the user's own; the policies' stay as they are, and lead back.
    shown.session.choices()->keepNorm(0, true);
    QTRY_COMPARE(table->model()->rowCount(), 5);
    QTRY_VERIFY(cell(4, VariantTable::Name).startsWith(QStringLiteral("● Your plan")));
    QCOMPARE(cell(4, VariantTable::Error), QStringLiteral("–"));
    QVERIFY(cell(1, VariantTable::Time) != QStringLiteral("–"));
    const auto folds = [&](int row) { return cell(row, VariantTable::Folded).section(u' ', 0, 0).toInt(); };
    QCOMPARE(folds(4), folds(2) - 1);
    table->setCurrentIndex(table->model()->index(2, 0));
    QTest::keyClick(table, Qt::Key_Return);
    QTRY_VERIFY(cell(2, VariantTable::Name).startsWith(u'●') && shown.session.plan());
    QCOMPARE(table->model()->rowCount(), 5);
    QVERIFY(shown.session.choices()->params().keep_norms.empty());
    shown.window.actions()->undo->trigger();
    QTRY_VERIFY(cell(4, VariantTable::Name).startsWith(u'●'));
  }

  // The plan in use and a row that is clicked: both on the open model's graph, with the edits that only one makes.
  void twoVariantsAreShownSideBySide() {
    Shown shown(model_);
    shown.session.choices()->keepNorm(0, true);
    auto* view = shown.child<Segmented>("planView");
    QTest::mouseClick(view, Qt::LeftButton, {}, QPoint(view->width() * 3 / 4, view->height() / 2));
    auto* table = shown.child<QTableView>("variantTable");
    QTRY_COMPARE(table->model()->rowCount(), 5);
    auto* side = shown.child<QPushButton>("compareVariants");
    QVERIFY(!side->isEnabled());
    const QModelIndex balanced = table->model()->index(1, VariantTable::Folded);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(balanced).center());
    QCOMPARE(side->text(), QStringLiteral("Compare Balanced and Your plan side by side"));
    QTest::mouseClick(side, Qt::LeftButton);
    auto* compare = shown.child<CompareView>("compare");
    QVERIFY(compare->isVisible());
    auto graphs = compare->findChildren<graphview::GraphView*>();
    std::ranges::sort(graphs, {}, [](const QWidget* graph) { return graph->mapToGlobal(QPoint()).x(); });
    for (auto* graph : graphs) QVERIFY(test::waitForLayout(*graph, 5000));
    const int node = shown.session.norm(0)->node;
    const auto folds = [&](const graphview::GraphView* graph) {
      return graph->planMarks().isRmsNorm(graph->scene().hierarchy->itemOfId(node));
    };
    QVERIFY(folds(graphs[0]) && !folds(graphs[1]));
    auto* list = shown.child<QTableView>("changeTable");
    QVERIFY(list->model()->rowCount() > 0);
    const int fold = rowOf(*list->model(), QStringLiteral("Fold"), ChangeTable::Largest);
    QVERIFY(fold >= 0);
    QCOMPARE(list->model()->index(fold, ChangeTable::Kind).data().toString(), QStringLiteral("only left"));
    const auto* summary = compare->findChild<ElidedLabel*>(QStringLiteral("compareSummary"));
    QVERIFY2(summary->accessibleName().startsWith(QStringLiteral("Edits: ")), qPrintable(summary->accessibleName()));
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                      list->visualRect(list->model()->index(fold, ChangeTable::Where)).center());
    for (auto* graph : graphs) QTRY_COMPARE(graph->selectedNode(), node);
    // A measurement of the fold is of neither plan's picture.
    shown.fold();
    QTRY_VERIFY(shown.session.canMeasure());
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->timedNodes() && !shown.session.busy());
    QVERIFY(!compare->findChild<QToolButton*>(QStringLiteral("compareCosts"))->isEnabled());
    QTest::keyClick(compare, Qt::Key_Escape);
    QVERIFY(shown.window.workspace()->isVisible());
  }

  // Hovering a box says what would fall with it; afterwards a bar says what fell, and Undo brings it back.
  void anEditExplainsItselfBeforeAndAfterItIsLeftOut() {
    Shown shown(model_);
    QTableView* table = planTable(shown);
    const QString last = QStringLiteral("h.3.mlp.c_proj.weight");
    QTRY_VERIFY(rowOf(*table->model(), last) >= 0);
    const int row = rowOf(*table->model(), last);
    const QModelIndex at = table->model()->index(row, EditModel::Kind);
    table->scrollTo(at);
    QTest::mouseMove(table->viewport(), EditDelegate::tickArea(table->visualRect(at)).center());
    QTRY_VERIFY(shown.session.preview()->fall());
    QCOMPARE(shown.session.preview()->fall()->norms, std::vector<int>{8});
    QCOMPARE(shown.session.planMarks()[8].state, PlanState::WouldFall);
    QVERIFY(shown.session.folds(8));  // nothing has changed
    auto* hint = shown.child<QWidget>("planHint");
    QVERIFY(hint->isVisible());
    const QModelIndex need = at.siblingAtColumn(EditModel::Frees);
    QVERIFY2(need.data().toString().contains(QStringLiteral("1 norm stays")), qPrintable(need.data().toString()));
    clickTick(table, row);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QVERIFY(!shown.session.folds(8) && !hint->isVisible());
    QTRY_VERIFY(shown.window.infoBar()->isVisible());
    shown.click("infoAction");
    QTRY_VERIFY(shown.session.plan() && shown.session.folds(8));
    QVERIFY(!shown.window.infoBar()->isVisible());
  }

  // Whether a centering in its place would pay: a question that takes as long as a plan.
  void whatThePreviewKnowsIsNotAskedAgain() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("plan=150")});
    QTableView* table = planTable(shown);
    const QString last = QStringLiteral("h.3.mlp.c_proj.weight");
    QTRY_VERIFY(rowOf(*table->model(), last) >= 0);
    const int row = rowOf(*table->model(), last);
    const QModelIndex at = table->model()->index(row, EditModel::Kind);
    table->scrollTo(at);
    QTest::mouseMove(table->viewport(), EditDelegate::tickArea(table->visualRect(at)).center());
    QTRY_VERIFY(shown.session.preview()->fall());
    const protocol::EditInfo edit = shown.session.preview()->fall()->edit;
    QVERIFY(!shown.session.preview()->known(edit));
    QTRY_VERIFY(shown.session.preview()->known(edit));
    QSet<qint64> asked;
    connect(shown.window.engine(), &EngineClient::progressed, this, [&](qint64 id) { asked.insert(id); });
    clickTick(table, row);
    QTRY_VERIFY(shown.session.plan() && shown.session.leftOut()->fall());
    QTest::qWait(500);
    QCOMPARE(asked.size(), 1);  // the plan without it
  }

  void anEditIsTurnedOffAndOnByItsTick() {
    Shown shown(model_);
    QTableView* table = planTable(shown);
    const QString last = QStringLiteral("h.3.mlp.c_proj.weight");
    QTRY_VERIFY(rowOf(*table->model(), last) >= 0);
    const int rows = table->model()->rowCount();
    clickTick(table, rowOf(*table->model(), last));
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    // Only ln_f reads what that layer writes, so ln_f stays a LayerNorm and every other norm folds.
    QCOMPARE(shown.session.plan()->folded.size(), size_t{8});
    QVERIFY(!shown.session.folds(8));
    QTRY_COMPARE(table->model()->rowCount(), rows);  // what was left out can be put back
    const int row = rowOf(*table->model(), last);
    QVERIFY(!isOn(table, row));
    QVERIFY(!isOn(table, rowOf(*table->model(), QStringLiteral("ln_f → RMSNorm"))));
    QVERIFY(isOn(table, rowOf(*table->model(), QStringLiteral("h.0.mlp.c_proj.weight"))));
    clickTick(table, row);
    QTRY_VERIFY(shown.session.plan() && shown.session.folds(8));
    QVERIFY(isOn(table, row));
  }

  void aTickCanBeSetByTheKeyboard() {
    Shown shown(model_);
    QTableView* table = planTable(shown);
    table->setFocus();
    table->setCurrentIndex(table->model()->index(0, EditModel::What));
    QTest::keyClick(table, Qt::Key_Space);
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->folded.empty());  // all norms read the first table
    QTRY_VERIFY(!isOn(table, 0));
    QTest::keyClick(table, Qt::Key_Space);
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->folded.size() == 9);
  }

  void everyChangeIsAStepThatIsNamedInTheEditMenu() {
    Shown shown(postNormModel_);
    const auto done = [&] { return shown.session.plan() && !shown.session.busy(); };
    shown.click("foldAllButton");
    QTRY_VERIFY(done() && shown.session.plan()->folded.size() == 9);
    shown.child<QAction>("suggestBest")->trigger();
    QTRY_VERIFY(done() && shown.session.plan()->folded.size() == 1);
    QCOMPARE(shown.session.choices()->params().prices, protocol::Prices::Measured);
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(done());
    shown.session.selection()->selectNorm(4);
    shown.child<QAction>("foldNorm")->trigger();
    QTRY_VERIFY(done() && !shown.session.folds(4));
    clickTick(planTable(shown), 0);
    QTRY_VERIFY(done() && !shown.session.folds(0));
    shown.click("resetPlanButton");
    QTRY_VERIFY(done() && shown.session.choices()->params().policy == Policy::Balanced);

    const QStringList steps{QStringLiteral("reset the plan"),     QStringLiteral("turn off: word_embeddings.weight"),
                            QStringLiteral("keep 1.output_norm"), QStringLiteral("policy Fold all"),
                            QStringLiteral("suggest best"),       QStringLiteral("fold all")};
    auto* undo = shown.child<QAction>("undo");
    QVERIFY(shown.window.actions()->editMenu->actions().contains(undo));
    for (const QString& step : steps) {
      QCOMPARE(undo->text(), QStringLiteral("Undo: ") + step);
      QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier);
      QTRY_VERIFY(done());
    }
    QVERIFY(!undo->isEnabled());
    QCOMPARE(shown.session.plan()->folded.size(), size_t{1});
    QCOMPARE(shown.child<QAction>("redo")->text(), QStringLiteral("Redo: fold all"));
    QTest::keyClick(&shown.window, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(done() && shown.session.plan()->folded.size() == 9);
  }

  // The centering costs more than it saves: the plan has it for this norm alone, because the user asks.
  void aNormThatStaysForItsCostIsFoldedByItsName() {
    Shown shown(postNormModel_);
    shown.session.selection()->selectNorm(4);
    QVERIFY(!shown.session.folds(4));
    QTest::keyClick(&shown.window, Qt::Key_L, Qt::ControlModifier);
    QTRY_VERIFY(shown.session.plan() && shown.session.folds(4) && !shown.session.busy());
    QCOMPARE(shown.session.plan()->folded, (std::vector<int>{0, 4}));
    QCOMPARE(shown.session.plan()->centerings, 1);
    QCOMPARE(shown.session.choices()->params().policy, Policy::Balanced);
    auto* undo = shown.child<QAction>("undo");
    QCOMPARE(undo->text(), QStringLiteral("Undo: fold 1.output_norm"));
    undo->trigger();
    QTRY_VERIFY(shown.session.plan() && !shown.session.folds(4) && !shown.session.busy());
    // The command is disabled and says why where no plan can fold a norm.
    Shown unknown(test::modelFile(folder_, QStringLiteral("hidden.pt")));
    unknown.session.selection()->selectNorm(4);
    const auto* fold = unknown.child<QAction>("foldNorm");
    QVERIFY2(!fold->isEnabled() && fold->toolTip().contains(QStringLiteral("No run has shown")),
             qPrintable(fold->toolTip()));
  }

  void costsAreTimesWhereTheyWereMeasured() {
    Shown shown(model_);
    const auto cost = [&] {
      const QAbstractItemModel& model = *planTable(shown)->model();
      return model.index(rowOf(model, QStringLiteral("ln_f → RMSNorm")), EditModel::Cost).data().toString();
    };
    QCOMPARE(cost(), QStringLiteral("one mean less per run"));
    shown.click("suggestBestButton");
    QTRY_COMPARE(cost(), QStringLiteral("saves 1.3 µs (1.2–1.4)"));
  }

  void thePlanIsCopied() {
    Shown shown(model_);
    QTableView* table = planTable(shown);
    table->setFocus();
    table->selectRow(1);
    QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
    const QString csv = QGuiApplication::clipboard()->text();
    QCOMPARE(csv.count(QStringLiteral("\r\n")), 2);
    QVERIFY2(csv.contains(QStringLiteral("wpe.weight,rewrites 16 kB,9 norms")), qPrintable(csv));
  }

  void theNormTableSortsFiltersAndCopies() {
    Shown shown(postNormModel_);
    shown.window.workspace()->showPlace(Workspace::Place::Norms);
    auto* table = shown.child<QTableView>("normTable");
    QCOMPARE(table->model()->rowCount(), 9);
    QHeaderView* header = table->horizontalHeader();
    const int middle = header->sectionViewportPosition(NormTable::Place) + 20;
    QTest::mouseClick(header->viewport(), Qt::LeftButton, {}, QPoint(middle, header->height() / 2));
    QCOMPARE(table->model()->index(0, NormTable::Place).data().toString(), QStringLiteral("9"));
    QTest::mouseClick(shown.child<QCheckBox>("normTableGrouped"), Qt::LeftButton, {}, QPoint(8, 8));
    QCOMPARE(table->model()->index(0, NormTable::Verdict).data().toString(), QStringLiteral("Can fold free"));
    QTest::keyClicks(shown.child<QLineEdit>("normTableFilter"), QStringLiteral("blocked layer.3"));
    QCOMPARE(table->model()->rowCount(), 2);
    chooseInMenu(table, 0, "normTableMenu", "copyMarkdown");
    const QString markdown = QGuiApplication::clipboard()->text();
    QCOMPARE(markdown.count(u'\n'), 4);
    QVERIFY(markdown.startsWith(QStringLiteral("| # | LayerNorm | Verdict |")));
    QVERIFY(markdown.contains(QStringLiteral("layer.3.attention_norm")));
  }

  void rowsOfTheNormTableAreSelectedAndKept() {
    Shown shown(model_);
    shown.window.workspace()->showPlace(Workspace::Place::Norms);
    auto* table = shown.child<QTableView>("normTable");
    const QModelIndex third = table->model()->index(2, NormTable::Name);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(third).center());
    QCOMPARE(shown.session.selection()->current().norm, 2);
    QTest::mouseClick(table->viewport(), Qt::LeftButton, Qt::ShiftModifier,
                      table->visualRect(table->model()->index(4, NormTable::Name)).center());
    QCOMPARE(table->selectionModel()->selectedRows().size(), 3);
    chooseInMenu(table, 2, "normTableMenu", "keepChosen");
    QTRY_VERIFY(shown.session.plan() && shown.session.plan()->folded.size() == 6);
    QCOMPARE(shown.child<QAction>("undo")->text(), QStringLiteral("Undo: keep 3 LayerNorms"));
    QCOMPARE(table->model()->index(3, NormTable::InPlan).data().toString(), QStringLiteral("stays a LayerNorm"));
  }

 private:
  QString postNormModel_ = test::modelFile(folder_, QStringLiteral("bert.pt"));
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestPlanPanel>(argc, argv); }

#include "test_plan_panel.moc"
