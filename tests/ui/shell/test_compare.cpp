// Two models side by side, by actions, clicks and keys.
#include <QClipboard>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QMimeData>
#include <QTableView>
#include <QToolButton>
#include <algorithm>

#include "tests/support/wait_for_layout.h"
#include "tests/ui/shell/shown_window.h"
#include "ui/graphview/graph_view.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/segmented.h"
#include "ui/window/actions.h"
#include "ui/window/workspace/changes/change_details.h"
#include "ui/window/workspace/changes/changes_panel.h"
#include "ui/window/workspace/compare_view.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

namespace {

// What the bar over the two graphs says.
QString summaryOf(const CompareView* compare) {
  return compare->findChild<ElidedLabel*>(QStringLiteral("compareSummary"))->accessibleName();
}

// All that a label was given to show: one of them may be gone before the next turn of the event loop.
class Shows final : public QObject {
 public:
  explicit Shows(ElidedLabel* label) : label_(label) { label->installEventFilter(this); }
  QStringList words;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::ToolTipChange) words << label_->accessibleName();
    return QObject::eventFilter(watched, event);
  }

 private:
  ElidedLabel* label_;
};

// The left one first.
auto graphsOf(const CompareView* compare) {
  auto graphs = compare->findChildren<graphview::GraphView*>();
  std::ranges::sort(graphs, {}, [](const QWidget* graph) { return graph->mapToGlobal(QPoint()).x(); });
  return graphs;
}

QTableView* tableOf(const CompareView* compare) {
  return compare->findChild<QTableView*>(QStringLiteral("changeTable"));
}

void clickRow(QTableView* table, int row) {
  const QModelIndex cell = table->model()->index(row, ChangeTable::Where);
  table->scrollTo(cell);
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(cell).center());
}

// Chooses a kind with the keys.
void narrowTo(const CompareView* compare, ChangeClass kind) {
  auto* filter = compare->findChild<Segmented*>(QStringLiteral("changeFilter"));
  while (filter->current() != static_cast<int>(kind)) {
    QTest::keyClick(filter, filter->current() < static_cast<int>(kind) ? Qt::Key_Right : Qt::Key_Left);
  }
}

// The files are held over the window, and let go.
void drag(Shown& shown, const QStringList& files) {
  QMimeData data;
  QList<QUrl> urls;
  for (const QString& file : files) urls << QUrl::fromLocalFile(file);
  data.setUrls(urls);
  QDragEnterEvent enter({100, 100}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&shown.window, &enter);
  QVERIFY(enter.isAccepted());
}

void drop(Shown& shown, const QStringList& files) {
  QMimeData data;
  QList<QUrl> urls;
  for (const QString& file : files) urls << QUrl::fromLocalFile(file);
  data.setUrls(urls);
  QDropEvent event({100, 100}, Qt::CopyAction, &data, Qt::LeftButton, {});
  QApplication::sendEvent(&shown.window, &event);
}

}  // namespace

class TestCompare final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  void theFoldedModelBesideTheOriginal() {
    Shown shown(model_);
    QVERIFY(!shown.window.actions()->compareFolded->isEnabled());
    shown.fold();
    shown.window.actions()->compareFolded->trigger();
    auto* compare = shown.child<CompareView>("compare");
    QVERIFY(compare->isVisible());
    const auto norms = shown.session.plan()->folded.size();
    QVERIFY(norms > 0);
    // The fake engine changes the first two weights: the embeddings, one of them by centering.
    QTRY_COMPARE(summaryOf(compare),
                 QStringLiteral("%1 LayerNorm → RMSNorm · 1 centered · 1 other weight changed").arg(norms));
    const auto graphs = graphsOf(compare);
    QCOMPARE(graphs.size(), 2);
    for (auto* graph : graphs) QVERIFY(test::waitForLayout(*graph, 5000));
    QTest::keyClick(compare, Qt::Key_F8);
    for (auto* graph : graphs) {
      QTRY_VERIFY(graph->isLaidOut());
      QTRY_VERIFY(graph->selectedNode() >= 0);
    }
    QCOMPARE(graphs[0]->selectedNode(), graphs[1]->selectedNode());  // the fake engine keeps the ids
    const int first = graphs[0]->selectedNode();
    QTest::keyClick(compare, Qt::Key_F8, Qt::ShiftModifier);
    QTRY_VERIFY(graphs[0]->selectedNode() != first);
    QTest::keyClick(compare, Qt::Key_Escape);
    QVERIFY(shown.window.workspace()->isVisible());
  }

  void graphsAreComparedBesideTheWindow() {
    Shown shown(model_);
    shown.fold();
    shown.window.actions()->compareFolded->trigger();
    auto* compare = shown.child<CompareView>("compare");
    const Shows shows(compare->findChild<ElidedLabel*>(QStringLiteral("compareSummary")));
    QTRY_VERIFY(summaryOf(compare).contains(QStringLiteral("LayerNorm → RMSNorm")));
    QVERIFY2(shows.words.contains(QStringLiteral("Comparing the graphs.")), qPrintable(shows.words.join(u'|')));
  }

  void bothSidesAreColoredByTimeInOneScale() {
    Shown shown(model_);
    shown.fold();
    shown.child<QAction>("compareFolded")->trigger();
    auto* compare = shown.child<CompareView>("compare");
    QTRY_COMPARE(graphsOf(compare).size(), 2);
    const auto graphs = graphsOf(compare);
    for (auto* graph : graphs) QVERIFY(test::waitForLayout(*graph, 5000));
    auto* costs = compare->findChild<QToolButton*>(QStringLiteral("compareCosts"));
    QVERIFY(!costs->isEnabled());
    shown.session.measure();
    QTRY_VERIFY(shown.session.measurements()->last() && !shown.session.busy());
    QTRY_VERIFY(costs->isEnabled());
    QTest::mouseClick(costs, Qt::LeftButton);
    const int norm = shown.session.analysis()->norms.front().node;
    const auto item = [&](int side) { return graphs[side]->scene().hierarchy->itemOfId(norm); };
    QCOMPARE(graphs[0]->heat().ms(item(0)), 0.05);
    QCOMPARE(graphs[1]->heat().ms(item(1)), 0.025);
    QVERIFY(graphs[1]->heat().level(item(1)) < graphs[0]->heat().level(item(0)));
    QTest::mouseClick(costs, Qt::LeftButton);
    QVERIFY(!graphs[0]->heat().active() && !graphs[1]->heat().active());
  }

  void twoDroppedFilesOpenSideBySide() {
    Shown shown;
    const QString other = test::modelFile(folder_, QStringLiteral("bert.pt"));
    auto* frame = shown.child<QWidget>("dropFrame");
    drag(shown, {model_, other});
    QVERIFY(frame->isVisible() && frame->size() == shown.child<QWidget>("central")->size());
    QCOMPARE(frame->accessibleName(), QStringLiteral("Drop to compare gpt2.pt with bert.pt."));
    drop(shown, {model_, other});
    QVERIFY(!frame->isVisible());
    QTRY_VERIFY(shown.window.findChild<CompareView*>() != nullptr);
    QVERIFY(shown.child<CompareView>("compare")->isVisible());
    QCOMPARE(shown.session.path(), model_);
    QTRY_COMPARE(graphsOf(shown.child<CompareView>("compare")).size(), 2);
  }

  void aDroppedFileThatIsOpenKeepsItsPlan() {
    Shown shown(model_);
    shown.session.choices()->setPolicy(Policy::All);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    const QStringList files{test::modelFile(folder_, QStringLiteral("bert.pt")), model_};
    drag(shown, files);
    drop(shown, files);
    QTRY_VERIFY(shown.window.findChild<CompareView*>() != nullptr);
    QVERIFY(shown.child<CompareView>("compare")->isVisible());
    QCOMPARE(shown.session.path(), model_);
    QCOMPARE(shown.session.choices()->params().policy, Policy::All);
    QVERIFY(shown.window.actions()->undo->isEnabled());
    QTRY_COMPARE(graphsOf(shown.child<CompareView>("compare")).size(), 2);
  }

  void severalNamesInTheDialogOpenSideBySide() {
    Shown shown;
    (void)test::modelFile(folder_, QStringLiteral("bert.pt"));
    shown.click("openButton");
    auto* dialog = shown.child<QFileDialog>("openDialog");
    dialog->setDirectory(folder_.path());
    dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(QStringLiteral("\"gpt2.pt\" \"bert.pt\""));
    QMetaObject::invokeMethod(dialog, "accept");
    QTRY_VERIFY(shown.window.findChild<CompareView*>() != nullptr);
    QVERIFY(shown.child<CompareView>("compare")->isVisible());
    QCOMPARE(shown.session.path(), model_);
  }

  void whatIsNotOpenedIsSaidWhy_data() {
    QTest::addColumn<QStringList>("files");
    QTest::addColumn<QString>("why");
    QTest::newRow("three") << QStringList{QStringLiteral("a.pt"), QStringLiteral("b.pt"), QStringLiteral("c.onnx")}
                           << QStringLiteral("3 files: at most two models can be shown side by side.");
    QTest::newRow("text") << QStringList{QStringLiteral("notes.txt")}
                          << QStringLiteral(
                                 "notes.txt is not a model: NormLens opens .pt, .pth, .ts, .jit, .pt2 and .onnx.");
    QTest::newRow("project") << QStringList{QStringLiteral("a.pt"), QStringLiteral("b.normlens")}
                             << QStringLiteral("b.normlens is a project: open it alone.");
  }
  void whatIsNotOpenedIsSaidWhy() {
    QFETCH(const QStringList, files);
    QFETCH(const QString, why);
    Shown shown;
    QStringList paths;
    for (const QString& file : files) paths << folder_.filePath(file);
    drag(shown, paths);
    QCOMPARE(shown.child<QWidget>("dropFrame")->accessibleName(), why);
    drop(shown, paths);
    QVERIFY(shown.says(why));
    QVERIFY(shown.session.path().isEmpty());
  }

  void theFoldIsFollowed() {
    Shown shown;
    auto* compare = compareFolded(shown);
    const auto graphs = graphsOf(compare);
    for (auto* graph : graphs) QVERIFY(test::waitForLayout(*graph, 5000));
    QTRY_COMPARE(graphs[1]->zoom(), graphs[0]->zoom());
    graphs[0]->setZoom(0.5);
    for (auto* graph : graphs) QTRY_COMPARE(graph->zoom(), 0.5);
    const QString all = summaryOf(compare);
    shown.window.actions()->undo->trigger();
    QVERIFY(compare->isVisible());
    QCOMPARE(summaryOf(compare), QStringLiteral("Fold again to compare the fold here."));
    QCOMPARE(tableOf(compare)->model()->rowCount(), 0);
    shown.window.actions()->redo->trigger();
    QTRY_COMPARE(summaryOf(compare), all);
    QTRY_VERIFY(test::waitForLayout(*graphs[1], 5000));
    QCOMPARE(graphs[0]->zoom(), 0.5);
    QTRY_COMPARE(graphs[1]->zoom(), 0.5);  // still linked
    // Another fold: the engine makes it first.
    const auto norms = shown.session.plan()->folded.size();
    shown.session.choices()->keepNorms({shown.session.plan()->folded.front()}, true);
    QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
    QVERIFY(summaryOf(compare).startsWith(QStringLiteral("Fold again")));
    shown.session.fold();
    QTRY_VERIFY(summaryOf(compare).startsWith(QStringLiteral("%1 LayerNorm → RMSNorm").arg(norms - 1)));
    QVERIFY(compare->isVisible());
  }

  void aChangeIsShownInBothGraphs() {
    Shown shown;
    auto* compare = compareFolded(shown);
    auto* table = tableOf(compare);
    const auto graphs = graphsOf(compare);
    for (auto* graph : graphs) QVERIFY(test::waitForLayout(*graph, 5000));
    const int norms = static_cast<int>(shown.session.plan()->folded.size());
    QCOMPARE(table->model()->rowCount(), norms + 2);
    QCOMPARE(table->model()->index(0, ChangeTable::Kind).data().toString(), QStringLiteral("centered"));
    QCOMPARE(table->model()->index(0, ChangeTable::Largest).data().toString(), QStringLiteral("0.25"));
    clickRow(table, 3);
    const auto& nodes = shown.session.document()->nodes;
    const std::string name = table->model()->index(3, ChangeTable::Where).data().toString().toStdString();
    const auto norm = std::ranges::find_if(
        nodes, [&](const auto& node) { return node.name == name && node.role == NodeClass::LayerNorm; });
    QVERIFY(norm != nodes.end());
    for (auto* graph : graphs) QTRY_COMPARE(graph->selectedNode(), norm->id);
    const auto title = [&] {
      return compare->findChild<ElidedLabel*>(QStringLiteral("changeTitle"))->accessibleName();
    };
    QCOMPARE(title(), QString::fromStdString(name) + QStringLiteral(": LayerNorm → RMSNorm"));
    QTest::keyClick(compare, Qt::Key_F8);
    QCOMPARE(table->currentIndex().row(), 4);
    for (auto* graph : graphs) QTRY_VERIFY(graph->selectedNode() > norm->id);
    Q_EMIT graphs[0]->nodeSelected(norm->id);  // by a click in the graph
    QCOMPARE(table->currentIndex().row(), 3);
    QTest::keyClick(compare, Qt::Key_F8, Qt::ShiftModifier);
    QCOMPARE(table->currentIndex().row(), 2);
  }

  void changesAreNarrowedByKindAndExported() {
    Shown shown;
    auto* compare = compareFolded(shown);
    auto* table = tableOf(compare);
    const int norms = static_cast<int>(shown.session.plan()->folded.size());
    narrowTo(compare, ChangeClass::RmsNorms);
    QCOMPARE(table->model()->rowCount(), norms);
    QTest::keyClick(compare, Qt::Key_F8, Qt::ShiftModifier);  // among what is shown
    QCOMPARE(table->currentIndex().row(), norms - 1);
    narrowTo(compare, ChangeClass::Ops);
    QCOMPARE(table->model()->rowCount(), 0);
    narrowTo(compare, ChangeClass::Centered);
    QCOMPARE(table->model()->rowCount(), 1);
    auto* menu = shown.child<QToolButton>("changesExport")->menu();
    menu->findChild<QAction*>(QStringLiteral("copyCsv"))->trigger();
    const QString copied = QGuiApplication::clipboard()->text();
    QCOMPARE(copied.count(u'\n'), 2);
    QVERIFY2(copied.contains(QStringLiteral("centered,wte.weight,0.25")), qPrintable(copied));
    narrowTo(compare, ChangeClass::All);
    clickRow(table, 1);
    menu->findChild<QAction*>(QStringLiteral("copyMarkdown"))->trigger();
    QCOMPARE(QGuiApplication::clipboard()->text().count(u'\n'), norms + 2 + 2);  // all of them, whatever is chosen
    menu->findChild<QAction*>(QStringLiteral("changesSaveCsv"))->trigger();
    const QString path = folder_.filePath(QStringLiteral("changes.csv"));
    shown.answerFileDialog("changesDialog", path);
    QTRY_VERIFY(QFile::exists(path));
    QCOMPARE(test::contentOf(path).count('\n'), norms + 2 + 1);
  }

  void aKindWithoutChangesSaysSo() {
    Shown shown;
    auto* compare = compareFolded(shown);
    const auto* nothing = shown.child<QLabel>("changesNothing");
    QVERIFY(!nothing->isVisible());
    narrowTo(compare, ChangeClass::Ops);
    QVERIFY(nothing->isVisible());
    QCOMPARE(nothing->text(), QStringLiteral("No nodes differ except LayerNorms that became RMSNorms."));
    narrowTo(compare, ChangeClass::Centered);
    QVERIFY(!nothing->isVisible());
  }

  void theLargestChangeComesFirstAndPlacesAreThoseShown() {
    Shown shown;
    auto* compare = compareFolded(shown);
    auto* table = tableOf(compare);
    clickRow(table, 2);
    const QString chosen = table->currentIndex().siblingAtColumn(ChangeTable::Where).data().toString();
    const QHeaderView* header = table->horizontalHeader();
    const int left = header->sectionViewportPosition(ChangeTable::Largest);
    QTest::mouseClick(header->viewport(), Qt::LeftButton, {}, QPoint(left + 20, header->height() / 2));
    QCOMPARE(header->sortIndicatorOrder(), Qt::DescendingOrder);
    QCOMPARE(table->model()->index(0, ChangeTable::Largest).data().toString(), QStringLiteral("0.25"));
    QCOMPARE(table->currentIndex().siblingAtColumn(ChangeTable::Where).data().toString(), chosen);
    const int row = table->currentIndex().row();
    QVERIFY(row != 2);
    QStringList told;
    for (const auto* label : shown.child<QWidget>("changeDetails")->findChildren<QLabel*>()) told << label->text();
    const QString place = QStringLiteral("%1 of %2").arg(row + 1).arg(table->model()->rowCount());
    QVERIFY2(told.contains(place), qPrintable(told.join(u'|') + place));
  }

  // A module has several operators of a name, also of one kind.
  void operatorsAreToldApart() {
    auto graph = std::make_shared<protocol::GraphDocument>();
    graph->scopes = {{0, "", "", "Model", -1}, {1, "1", "layer.1", "Norm", 0}};
    std::vector<graphview::Change> changes;
    for (const char* label : {"mean", "sub", "sub", "sub"}) {
      const int id = static_cast<int>(graph->nodes.size());
      protocol::GraphNode node;
      node.id = id;
      node.label = label;
      node.name = "layer.1";
      node.scope = 1;
      node.role = NodeClass::Scalar;
      node.outputs = {id};
      protocol::GraphValue made;
      made.id = id;
      if (id < 3) made.name = "x." + std::to_string(id);  // the last has no name, as the third
      if (id == 2) made.name.clear();
      graph->nodes.push_back(node);
      graph->values.push_back(made);
      changes.push_back({graphview::Change::Kind::Added, -1, id, {}});
    }
    ChangeTable table;
    table.show({graph, graph}, changes);
    const auto where = [&](int row) { return table.index(row, ChangeTable::Where).data().toString(); };
    QCOMPARE(where(0), QStringLiteral("layer.1 · mean · x.0"));
    QCOMPARE(where(1), QStringLiteral("layer.1 · sub · x.1"));
    QCOMPARE(where(2), QStringLiteral("layer.1 · sub"));
    QCOMPARE(where(3), QStringLiteral("layer.1 · sub (2)"));
    // An operator with a name of its own needs no more.
    graph->nodes[0].name = "/layer.1/ReduceMean";
    graph->nodes[0].label = "ReduceMean";
    graph->values[0].name = "/layer.1/ReduceMean_output_0";
    table.show({graph, graph}, {changes.front()});
    QCOMPARE(where(0), QStringLiteral("/layer.1/ReduceMean"));
  }

  void whatBecameOfAWeightIsSaid() {
    auto graph = std::make_shared<protocol::GraphDocument>();
    graph->scopes = {{0, "", "", "Model", -1}};
    std::vector<graphview::Change> changes;
    std::vector<ChangeTable::Weights> weights;
    for (const char* name : {"up.bias", "q.weight", "other"}) {
      const int id = static_cast<int>(graph->nodes.size());
      protocol::GraphNode node;
      node.id = id;
      node.inputs = {id};
      protocol::GraphValue weight;
      weight.id = id;
      weight.name = name;
      graph->nodes.push_back(node);
      graph->values.push_back(weight);
      changes.push_back({graphview::Change::Kind::Weight, id, id, {{id, id, false}}});
      weights.emplace_back(id, id);
    }
    ChangeTable table;
    table.show({graph, graph}, changes);
    table.setFigures(weights, {{"", 0.25, 2, -1, 0, "h.0.ln_2"}, {"", 0.25, 2, 0, 16, ""}, {"", 0.25, 2, -1, 0, ""}});
    const auto kind = [&](int row) { return table.index(row, ChangeTable::Kind).data().toString(); };
    QCOMPARE(kind(0), QStringLiteral("shift moved"));
    QCOMPARE(kind(1), QStringLiteral("centered"));
    QCOMPARE(kind(2), QStringLiteral("changed"));
    QCOMPARE(table.summary(), QStringLiteral("1 centered · 1 shift moved · 1 other weight changed"));
    const auto said = [&](int row) {
      QStringList words;
      for (const Property& property : changeDetails(table.row(row), table.graphs()))
        words << property.name + u'=' + property.value;
      return words.join(u'|');
    };
    QVERIFY2(said(0).contains(QStringLiteral("shift moved in=β of h.0.ln_2")), qPrintable(said(0)));
    QVERIFY2(said(1).contains(QStringLiteral("centered=means of 16 each along axis 0 are gone")), qPrintable(said(1)));
  }

  void theListGivesWayToTheGraphs() {
    Shown shown;
    auto* compare = compareFolded(shown);
    const auto* list = shown.child<ChangesPanel>("changes");
    QVERIFY(list->isVisible());
    shown.window.resize(960, 600);
    QTRY_VERIFY(!list->isVisible());
    auto* toggle = shown.child<QAbstractButton>("compareListed");
    QVERIFY(!toggle->isChecked());
    QTest::keyClick(compare, Qt::Key_F8);
    QCOMPARE(tableOf(compare)->currentIndex().row(), 0);
    QTest::mouseClick(toggle, Qt::LeftButton);
    QVERIFY(list->isVisible());
    shown.window.resize(1440, 900);
    QTest::mouseClick(toggle, Qt::LeftButton);
    QVERIFY(!list->isVisible());
  }

  void figuresOfAnEarlierComparisonAreNobodys() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("weight_changes=400")});
    shown.fold();
    shown.window.actions()->compareFolded->trigger();
    auto* compare = shown.child<CompareView>("compare");
    const auto* changes = &shown.child<ChangesPanel>("changes")->changes();
    QTRY_VERIFY(summaryOf(compare).contains(QStringLiteral("2 weights changed   Comparing the weights.")));
    compare->compareWith(model_);
    QTRY_COMPARE(summaryOf(compare), QStringLiteral("The same nodes with the same weights in the same modules."));
    QTest::qWait(800);
    QCOMPARE(changes->rowCount(), 0);
    QCOMPARE(summaryOf(compare), QStringLiteral("The same nodes with the same weights in the same modules."));
  }

  void bothGraphsMoveAndOpenTogether() {
    Shown shown(model_);
    shown.window.actions()->compareWith->trigger();
    shown.answerFileDialog("compareDialog", model_);
    auto* compare = shown.child<CompareView>("compare");
    QTRY_COMPARE(summaryOf(compare), QStringLiteral("The same nodes with the same weights in the same modules."));
    const auto graphs = graphsOf(compare);
    for (auto* graph : graphs) QVERIFY(test::waitForLayout(*graph, 5000));
    QTRY_COMPARE(graphs[1]->zoom(), graphs[0]->zoom());
    graphs[0]->setZoom(0.5);
    QTRY_COMPARE(graphs[0]->zoom(), 0.5);
    QTRY_COMPARE(graphs[1]->zoom(), 0.5);
    graphs[1]->collapseAll();
    QTRY_VERIFY(test::waitForLayout(*graphs[1], 5000) && test::waitForLayout(*graphs[0], 5000));
    const auto& scopes = shown.session.document()->scopes;
    const auto sameGroups = [&] {
      return std::all_of(scopes.begin(), scopes.end(), [&](const protocol::GraphScope& scope) {
        return graphs[0]->isScopeOpen(scope.id) == graphs[1]->isScopeOpen(scope.id);
      });
    };
    QTRY_VERIFY(sameGroups());
    graphs[0]->expandAll();
    const auto openIn = [&](const graphview::GraphView* graph) {
      return std::count_if(scopes.begin(), scopes.end(),
                           [&](const protocol::GraphScope& scope) { return graph->isScopeOpen(scope.id); });
    };
    QTRY_VERIFY(openIn(graphs[1]) > 2);
    QTRY_VERIFY(sameGroups());
    shown.click("compareLinked");
    const double zoom = graphs[1]->zoom();
    graphs[0]->setZoom(zoom * 1.5);
    QTRY_COMPARE(graphs[0]->zoom(), zoom * 1.5);
    QCOMPARE(graphs[1]->zoom(), zoom);
  }

  void aFileThatCannotBeReadSaysSoInItsPlace() {
    Shown shown(model_);
    shown.window.actions()->compareWith->trigger();
    shown.answerFileDialog("compareDialog", test::modelFile(folder_, QStringLiteral("broken.pt")));
    auto* compare = shown.child<CompareView>("compare");
    QTRY_VERIFY(summaryOf(compare).contains(QStringLiteral("is not a model")));
    shown.click("leaveCompare");
    QVERIFY(shown.window.workspace()->isVisible());
    QVERIFY(shown.session.model().has_value());
  }

  void aReplyThatComesWhenTheModelIsGoneIsNobodys() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("weight_digests=200")});
    shown.window.actions()->compareWith->trigger();
    shown.answerFileDialog("compareDialog", model_);
    auto* compare = shown.child<CompareView>("compare");
    QTRY_VERIFY(summaryOf(compare).contains(QStringLiteral("Comparing the weights")));
    shown.child<QAction>("showNormList")->trigger();  // another page, not "Back"
    QVERIFY(!compare->isVisible());
    shown.session.close();
    QTest::qWait(600);
    QVERIFY(!shown.session.model().has_value());
    QVERIFY(summaryOf(compare).contains(QStringLiteral("Comparing the weights")));
  }

 private:
  // Opened, folded, and all that differs is known.
  CompareView* compareFolded(Shown& shown) {
    shown.openAndAnalyse(model_);
    shown.session.fold();
    [[maybe_unused]] const bool folded =
        QTest::qWaitFor([&] { return shown.session.foldResult().has_value() && !shown.session.busy(); });
    shown.window.actions()->compareFolded->trigger();
    auto* compare = shown.child<CompareView>("compare");
    if (!QTest::qWaitFor([&] { return summaryOf(compare).endsWith(QStringLiteral("1 other weight changed")); }))
      qFatal("%s", qPrintable(summaryOf(compare)));
    return compare;
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestCompare>(argc, argv); }

#include "test_compare.moc"
