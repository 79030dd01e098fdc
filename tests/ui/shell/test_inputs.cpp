// The inputs of a model: edited in a table, checked, loaded from a file, remembered, guessed again.
#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QSettings>
#include <QTableView>

#include "tests/ui/shell/shown_window.h"
#include "ui/client/engine_client.h"
#include "ui/models/inputs_model.h"
#include "ui/session/project/input_presets.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/frame/story_bar.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

namespace {

std::vector<protocol::InputSpec> someInputs() {
  return {{"ids", "int64", {1, 16}, 0, 210, true, "below the rows of wte"}, {"x", "float32", {2, 3}, 0, 1, false, ""}};
}

// All in one line; where there is none, why.
QString specsOf(const InputsModel& model) {
  const auto specs = model.specs();
  if (!specs) return model.firstError();
  QStringList words;
  for (const std::string& spec : *specs) words << QString::fromStdString(spec);
  return words.join(u' ');
}

// Types into a cell as a user does: double click, text, Enter. The model has it a moment later.
void edit(QTableView* table, int row, int column, const QString& words) {
  const QModelIndex at = table->model()->index(row, column);
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(at).center());
  QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(at).center());
  auto* editor = table->viewport()->findChild<QLineEdit*>();
  QVERIFY(editor != nullptr);
  editor->selectAll();
  QTest::keyClicks(editor, words);
  QTest::keyClick(editor, Qt::Key_Return);
}

QString state(Shown& shown) { return shown.child<ElidedLabel>("inputsState")->accessibleName(); }

}  // namespace

class TestInputs final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  void init() { QSettings().clear(); }

  void theTableGivesSpecsOrSaysWhatIsWrong() {
    InputsModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.setInputs(someInputs());
    QCOMPARE(specsOf(model), QStringLiteral("ids=int64[1,16]:0..210 x=float32[2,3]"));
    auto unusual = someInputs();
    unusual[0].name = "ids[0]";
    InputsModel byPlace;
    byPlace.setInputs(unusual);
    QVERIFY(specsOf(byPlace).startsWith(QStringLiteral("in_0=")));
    QVERIFY(!model.edited());
    QCOMPARE(model.index(1, InputsModel::Low).data().toString(), QStringLiteral("normal(0, 1)"));
    const auto set = [&](int row, int column, const char* words) {
      return model.setData(model.index(row, column), QString::fromUtf8(words), Qt::EditRole);
    };
    QVERIFY(!set(0, InputsModel::Name, "other"));
    QVERIFY(set(0, InputsModel::Shape, "4 x 12"));
    QCOMPARE(specsOf(model), QStringLiteral("ids=int64[4,12]:0..210 x=float32[2,3]"));
    QVERIFY(model.edited());
    const struct {
      int row, column;
      const char *words, *sentence;
    } wrong[] = {{0, InputsModel::Shape, "1, -2", "whole numbers"},
                 {0, InputsModel::Shape, "1,,2", "whole numbers"},
                 {0, InputsModel::Shape, "100000, 100000", "memory"},
                 {0, InputsModel::Type, "int7", "not an element type"},
                 {0, InputsModel::Low, "300", "ends before it starts"},
                 {0, InputsModel::High, "many", "not a number"},
                 {1, InputsModel::Low, "1", "not a number"}};
    for (const auto& row : wrong) {
      model.setInputs(someInputs());
      QVERIFY(set(row.row, row.column, row.words));
      QVERIFY2(model.firstError().contains(QLatin1String(row.sentence)), qPrintable(model.firstError()));
      QVERIFY(!model.specs());
    }
    model.setInputs(someInputs());
    set(0, InputsModel::Low, "");
    set(0, InputsModel::High, "");
    QVERIFY(model.firstError().contains(QStringLiteral("ids: Whole numbers need a range")));
    set(1, InputsModel::Shape, "");
    QCOMPARE(model.index(1, InputsModel::Shape).data(InputsModel::ErrorRole).toString(), QString());  // a scalar
    model.setEditable(false);
    QVERIFY(!set(1, InputsModel::Shape, "1"));
    model.setInputs({});
    QCOMPARE(model.rowCount(), 0);
  }

  // Where no guess could be run, what the graph says of its inputs is there to be completed.
  void theGraphsInputsAreOfferedWhereNoneWereFound() {
    auto graph = std::make_shared<protocol::GraphDocument>();
    graph->values = {{1, "waveforms", "float32", {-1, 16}, true}, {2, "lengths", "int64", {}}, {3, "y", "float32", {}}};
    for (const auto& [id, role] : {std::pair{1, NodeClass::Input}, {2, NodeClass::Input}, {3, NodeClass::Scalar}}) {
      protocol::GraphNode node;
      node.id = id;
      node.role = role;
      node.outputs = {id};
      graph->nodes.push_back(node);
    }
    InputsModel model;
    model.setInputs(inputsOfGraph(ModelIndex(graph)));
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(0, InputsModel::Shape).data().toString(), QStringLiteral("?, 16"));
    QVERIFY(!model.specs());
    QVERIFY(model.setData(model.index(0, InputsModel::Shape), QStringLiteral("2, 16"), Qt::EditRole));
    QVERIFY(model.setData(model.index(1, InputsModel::Shape), QStringLiteral("2"), Qt::EditRole));
    QCOMPARE(specsOf(model), QStringLiteral("waveforms=float32[2,16] lengths=int64[2]:0..1"));
  }

  void editedInTheWindowAndRemembered() {
    {
      Shown shown(model_);
      shown.session.choices()->setPolicy(Policy::All);
      QTRY_VERIFY(shown.session.plan() && !shown.session.busy());
      shown.window.workspace()->showPlace(Workspace::Place::Inputs);
      auto* table = shown.child<QTableView>("inputsTable");
      auto* apply = shown.child<QAbstractButton>("inputsApply");
      QVERIFY(!apply->isEnabled());
      edit(table, 0, InputsModel::Shape, QStringLiteral("3, 7q"));
      QTRY_VERIFY2(state(shown).contains(QStringLiteral("whole numbers")), qPrintable(state(shown)));
      QVERIFY(!apply->isEnabled());
      edit(table, 0, InputsModel::Shape, QStringLiteral("3, 7"));
      QTRY_VERIFY(apply->isEnabled());
      QTest::mouseClick(apply, Qt::LeftButton);
      QTRY_VERIFY(!shown.session.busy() && shown.session.plan());
      QCOMPARE(shown.session.analysis()->inputs.front().shape, (std::vector<int64_t>{3, 7}));
      QCOMPARE(shown.session.choices()->params().policy, Policy::All);
      QVERIFY(state(shown).contains(QStringLiteral("Your settings")));
    }
    Shown again;
    again.openAndAnalyse(model_);
    QCOMPARE(again.session.analysis()->inputs.front().shape, (std::vector<int64_t>{3, 7}));
    again.window.workspace()->showPlace(Workspace::Place::Inputs);
    again.click("inputsGuess");
    QTRY_VERIFY(!again.session.busy() && again.session.plan());
    QCOMPARE(again.session.analysis()->inputs.front().shape, (std::vector<int64_t>{1, 16}));
    QVERIFY(state(again).contains(QStringLiteral("Guessed")));
  }

  void arraysAreLoadedFromAFile() {
    Shown shown(model_);
    shown.window.workspace()->showPlace(Workspace::Place::Inputs);
    const QString npz = test::modelFile(folder_, QStringLiteral("sample.npz"));
    shown.click("inputsLoad");
    shown.answerFileDialog("inputsDialog", npz);
    QTRY_COMPARE(shown.session.inputs().npz, npz.toStdString());
    QTRY_VERIFY(!shown.session.busy() && shown.session.plan());
    QVERIFY2(state(shown).startsWith(QStringLiteral("From sample.npz. Not used")), qPrintable(state(shown)));
    QVERIFY2(state(shown).endsWith(QStringLiteral("labels, epoch.")), qPrintable(state(shown)));
    QVERIFY(
        !(shown.child<QTableView>("inputsTable")->model()->index(0, InputsModel::Shape).flags() & Qt::ItemIsEditable));
    // They are set again for an engine that had to be started anew.
    shown.window.engine()->start();
    shown.session.recover();
    QTRY_VERIFY(!shown.session.busy() && shown.session.plan());
    QCOMPARE(shown.session.analysis()->inputs.front().shape, (std::vector<int64_t>{4, 12}));
  }

  void whatTheEngineRefusesChangesNothing() {
    Shown shown(model_, {QStringLiteral("--error"), QStringLiteral("set_inputs")});
    protocol::InputsParams inputs;
    inputs.specs = {"in_0=int64[9]:0..1"};
    shown.session.setInputs(inputs);
    QTRY_VERIFY(shown.window.infoBar()->showsError());
    QVERIFY(shown.session.inputs().specs.empty());
    QVERIFY(shown.session.plan().has_value());
  }

  void arraysThatWereRefusedAreNotReportedAsAGuess() {
    Shown shown({QStringLiteral("--error"), QStringLiteral("set_inputs")});
    shown.openAndAnalyse(model_);
    shown.window.workspace()->showPlace(Workspace::Place::Inputs);
    shown.click("inputsLoad");
    shown.answerFileDialog("inputsDialog", test::modelFile(folder_, QStringLiteral("sample.npz")));
    QTRY_VERIFY(!shown.session.busy() && shown.window.infoBar()->showsError());
    QVERIFY2(!state(shown).contains(QStringLiteral("Guessed")), qPrintable(state(shown)));
    QCOMPARE(state(shown), shown.window.infoBar()->message());
    shown.click("inputsGuess");
    QTRY_VERIFY(state(shown).contains(QStringLiteral("Guessed")));
  }

  // What was typed stays in its cell, with the reason; typed anew, or guessed, it is forgotten.
  void whatWasRefusedStaysAndIsMarked() {
    Shown shown(model_, {QStringLiteral("--error"), QStringLiteral("set_inputs")});
    shown.window.workspace()->showPlace(Workspace::Place::Inputs);
    auto* table = shown.child<QTableView>("inputsTable");
    const auto cell = [&](int column, int role) { return table->model()->index(0, column).data(role).toString(); };
    const QString before = cell(InputsModel::Shape, Qt::DisplayRole);
    const auto refuse = [&] {
      edit(table, 0, InputsModel::Shape, QStringLiteral("1, 4096"));
      QTRY_VERIFY(shown.child<QAbstractButton>("inputsApply")->isEnabled());
      shown.click("inputsApply");
      QTRY_VERIFY(!shown.session.busy() && !cell(InputsModel::Shape, InputsModel::ErrorRole).isEmpty());
      QCOMPARE(cell(InputsModel::Shape, Qt::DisplayRole), QStringLiteral("1, 4096"));
      QVERIFY(cell(InputsModel::Shape, Qt::ToolTipRole).contains(cell(InputsModel::Shape, InputsModel::ErrorRole)));
      QVERIFY2(cell(InputsModel::Type, InputsModel::ErrorRole).isEmpty(), "it is as it was when the model ran");
      QCOMPARE(state(shown), cell(InputsModel::Shape, InputsModel::ErrorRole));
    };
    refuse();
    edit(table, 0, InputsModel::Shape, QStringLiteral("1, 8"));
    QTRY_VERIFY(cell(InputsModel::Shape, InputsModel::ErrorRole).isEmpty());
    refuse();
    shown.click("inputsGuess");
    QTRY_VERIFY(!shown.session.busy() && shown.session.plan());
    QCOMPARE(cell(InputsModel::Shape, Qt::DisplayRole), before);
    QVERIFY(cell(InputsModel::Shape, InputsModel::ErrorRole).isEmpty());
  }

  void whatWasTypedOutlivesAStop() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("set_inputs=2000")});
    shown.window.workspace()->showPlace(Workspace::Place::Inputs);
    auto* table = shown.child<QTableView>("inputsTable");
    edit(table, 0, InputsModel::Shape, QStringLiteral("3, 7"));
    QTRY_VERIFY(shown.child<QAbstractButton>("inputsApply")->isEnabled());
    shown.click("inputsApply");
    QTRY_COMPARE(shown.session.job().kind, JobKind::Analyzing);
    shown.session.cancel();
    QTRY_VERIFY(!shown.session.busy());
    const QModelIndex cell = table->model()->index(0, InputsModel::Shape);
    QCOMPARE(cell.data().toString(), QStringLiteral("3, 7"));
    QVERIFY(cell.data(InputsModel::ErrorRole).toString().isEmpty());
    QVERIFY(shown.child<QAbstractButton>("inputsApply")->isEnabled());
    QCOMPARE(shown.session.analysis()->inputs.front().shape, (std::vector<int64_t>{1, 16}));
  }

  void guessAgainGivesUpWhatRuns() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("fold=60000")});
    shown.window.workspace()->showPlace(Workspace::Place::Inputs);
    shown.session.fold();
    QTRY_COMPARE(shown.session.job().kind, JobKind::Folding);
    shown.click("inputsGuess");
    QTRY_VERIFY(!shown.session.busy() && shown.session.plan());
    QVERIFY(!shown.session.foldResult());
  }

  void inputsThatAreStoppedAreAskedForAgain() {
    protocol::InputsParams inputs;
    inputs.npz = test::modelFile(folder_, QStringLiteral("sample.npz")).toStdString();
    rememberInputs(model_, inputs);
    Shown shown({QStringLiteral("--slow"), QStringLiteral("set_inputs=300")});
    shown.window.openFile(model_);
    QTRY_COMPARE(shown.session.job().kind, JobKind::Analyzing);
    shown.session.cancel();
    QTRY_VERIFY(!shown.session.busy());
    QVERIFY(!shown.session.analysis().has_value());
    QCOMPARE(shown.session.inputs().npz, inputs.npz);
    QCOMPARE(shown.child<StoryBar>("storyBar")->nextAction(), NextAction::Resume);
    shown.click("nextAction");
    QTRY_VERIFY(!shown.session.busy() && shown.session.plan());
    QCOMPARE(shown.session.analysis()->inputs.front().shape, (std::vector<int64_t>{4, 12}));
  }

  void anAnalysisOfOtherInputsThatIsStoppedIsMadeOfThoseBefore() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("analyze=400")});
    protocol::InputsParams inputs;
    inputs.specs = {"in_0=int64[9]:0..1"};
    QSignalSpy analysed(&shown.session, &Session::analysisChanged);
    const auto stopTheAnalysis = [&] {
      shown.session.setInputs(inputs);
      QTRY_VERIFY(!shown.session.inputs().specs.empty());
      QTest::qWait(50);
      shown.session.cancel();
      QTRY_VERIFY(shown.session.inputs().specs.empty());
      QVERIFY(shown.session.busy());
    };
    stopTheAnalysis();
    QTRY_VERIFY(!shown.session.busy() && shown.session.plan());
    QCOMPARE(analysed.count(), 1);
    QCOMPARE(shown.session.analysis()->inputs.front().shape, (std::vector<int64_t>{1, 16}));

    stopTheAnalysis();
    QTest::qWait(100);
    shown.session.cancel();
    QTRY_VERIFY(!shown.session.busy());
    QVERIFY(!shown.session.analysis().has_value());  // the engine has none
    shown.session.resume();
    QTRY_VERIFY(!shown.session.busy() && shown.session.plan());
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestInputs>(argc, argv); }

#include "test_inputs.moc"
