// Two models side by side, by actions, clicks and keys.
#include <QLabel>
#include <QStackedWidget>
#include <algorithm>

#include "tests/ui/shell/shown_window.h"
#include "ui/graphview/graph_view.h"
#include "ui/widgets/elided_label.h"
#include "ui/window/actions.h"
#include "ui/window/workspace/compare_view.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

namespace {

// What the bar over the two graphs says.
QString summaryOf(const CompareView* compare) {
  return compare->findChild<ElidedLabel*>(QStringLiteral("compareSummary"))->fullText();
}

// Left, right.
QList<graphview::GraphView*> graphsOf(const CompareView* compare) {
  return compare->findChildren<graphview::GraphView*>();
}

// The one that the fake engine's folding changes.
int readersOfTheFirstWeight(const protocol::GraphDocument& graph) {
  const auto weight = std::ranges::find_if(graph.values, &protocol::GraphValue::constant);
  return static_cast<int>(std::ranges::count_if(graph.nodes, [&](const protocol::GraphNode& node) {
    return std::ranges::find(node.inputs, weight->id) != node.inputs.end();
  }));
}

}  // namespace

class TestCompare final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { model_ = test::modelFile(folder_); }

  void theFoldedModelBesideTheOriginal() {
    Shown shown;
    shown.openAndAnalyse(model_);
    QVERIFY(!shown.window.actions()->compareFolded->isEnabled());
    shown.session.fold();
    QTRY_VERIFY(shown.session.foldResult().has_value() && !shown.session.busy());
    shown.window.actions()->compareFolded->trigger();
    auto* compare = shown.child<CompareView>("compare");
    QVERIFY(compare->isVisible());
    const auto norms = static_cast<int>(shown.session.plan()->folded.size());
    QVERIFY(norms > 0);
    const int readers = readersOfTheFirstWeight(*shown.session.document());
    QVERIFY(readers > 0);
    QTRY_COMPARE(summaryOf(compare),
                 QStringLiteral("≠ %1 changed   + 0 only on the left   + 0 only on the right").arg(norms + readers));
    const auto graphs = graphsOf(compare);
    QCOMPARE(graphs.size(), 2);
    for (auto* graph : graphs) QVERIFY(graph->waitForLayout(5000));
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

  void bothGraphsMoveAndOpenTogether() {
    Shown shown;
    shown.openAndAnalyse(model_);
    shown.window.actions()->compareWith->trigger();
    shown.answerFileDialog("compareDialog", model_);
    auto* compare = shown.child<CompareView>("compare");
    QTRY_COMPARE(summaryOf(compare), QStringLiteral("The same operators with the same weights in the same modules."));
    const auto graphs = graphsOf(compare);
    for (auto* graph : graphs) QVERIFY(graph->waitForLayout(5000));
    QTRY_COMPARE(graphs[1]->zoom(), graphs[0]->zoom());
    graphs[0]->setZoom(0.5);
    QTRY_COMPARE(graphs[0]->zoom(), 0.5);
    QTRY_COMPARE(graphs[1]->zoom(), 0.5);
    graphs[1]->collapseAll();
    QTRY_VERIFY(graphs[1]->waitForLayout(5000) && graphs[0]->waitForLayout(5000));
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
    auto buttons = compare->findChildren<QAbstractButton*>();
    const auto linked =
        std::find_if(buttons.begin(), buttons.end(), [](auto* button) { return button->isCheckable(); });
    QVERIFY(linked != buttons.end());
    QTest::mouseClick(*linked, Qt::LeftButton);
    const double zoom = graphs[1]->zoom();
    graphs[0]->setZoom(zoom * 1.5);
    QTRY_COMPARE(graphs[0]->zoom(), zoom * 1.5);
    QCOMPARE(graphs[1]->zoom(), zoom);
  }

  void aFileThatCannotBeReadSaysSoInItsPlace() {
    Shown shown;
    shown.openAndAnalyse(model_);
    shown.window.actions()->compareWith->trigger();
    shown.answerFileDialog("compareDialog", test::modelFile(folder_, QStringLiteral("broken.pt")));
    auto* compare = shown.child<CompareView>("compare");
    QTRY_VERIFY(summaryOf(compare).contains(QStringLiteral("is not a model")));
    shown.click("leaveCompare");
    QVERIFY(shown.window.workspace()->isVisible());
    QVERIFY(shown.session.model().has_value());
  }

  void aReplyThatComesWhenTheModelIsGoneIsNobodys() {
    Shown shown({QStringLiteral("--slow"), QStringLiteral("weight_digests=200")});
    shown.openAndAnalyse(model_);
    shown.window.actions()->compareWith->trigger();
    shown.answerFileDialog("compareDialog", model_);
    auto* compare = shown.child<CompareView>("compare");
    QTRY_VERIFY(summaryOf(compare).contains(QStringLiteral("are being compared")));
    shown.child<QAction>("showNormList")->trigger();  // another page, not "Back"
    QVERIFY(!compare->isVisible());
    shown.session.close();
    QTest::qWait(600);
    QVERIFY(!shown.session.model().has_value());
    QVERIFY(summaryOf(compare).contains(QStringLiteral("are being compared")));
  }

 private:
  QTemporaryDir folder_;
  QString model_;
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestCompare>(argc, argv); }

#include "test_compare.moc"
