// The Differences tab: comparing in several precisions, reading the result, looking at tensors, cancelling, failing.
#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QTableView>

#include "tests/ui/shell/shown_window.h"
#include "ui/models/difference_table.h"
#include "ui/theme/error_scale.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/plots/difference_plots.h"
#include "ui/widgets/plots/heat_map.h"
#include "ui/widgets/segmented.h"
#include "ui/window/bottom/bottom_panel.h"
#include "ui/window/bottom/differences_page.h"
#include "ui/window/workspace/graph_pane.h"
#include "ui/window/workspace/workspace.h"

namespace normlens::ui {

namespace {

void showDifferences(Shown& shown) { shown.window.workspace()->bottom()->showTab(BottomPanel::Differences); }

void foldAndCompare(Shown& shown) {
  shown.fold();
  showDifferences(shown);
  shown.click("differenceGo");
}

struct Compared : Shown {
  explicit Compared(const QString& model) : Shown(model) { foldAndCompare(*this); }
};

DifferenceMatrix* matrixOf(Shown& shown) {
  return qobject_cast<DifferenceMatrix*>(shown.child<QTableView>("differenceFigures")->model());
}

QString state(Shown& shown) { return shown.child<ElidedLabel>("differenceState")->accessibleName(); }

void chooseView(Shown& shown, int index) {
  auto* view = shown.child<Segmented>("differenceView");
  QTRY_VERIFY(!view->folded());  // while the bar still makes room, a click opens its menu
  QTest::mouseClick(view, Qt::LeftButton, {}, QPoint(view->width() * (2 * index + 1) / 6, view->height() / 2));
}

protocol::DiffRow someRow(SiteKind kind, const char* name, int step, double error) {
  protocol::DiffRow row;
  row.kind = kind;
  row.name = name;
  row.step = step;
  row.value = step;
  row.norm = step;
  row.max_rel = error;
  row.aligned = Alignment::Mean;
  row.ulps = {5, 0, 0, 1};
  row.max_ulp = 4;
  return row;
}

}  // namespace

class TestDifferences final : public test::ModelTest {
  Q_OBJECT

 private Q_SLOTS:
  void init() { QSettings().clear(); }

  void theTableSortsNumbersAsNumbers() {
    DifferenceTable table;
    RecordSorter sorter;
    const QAbstractItemModelTester first(&table, QAbstractItemModelTester::FailureReportingMode::QtTest);
    sorter.setSourceModel(&table);
    const QAbstractItemModelTester second(&sorter, QAbstractItemModelTester::FailureReportingMode::QtTest);
    table.setRows({someRow(SiteKind::NormOutput, "a", 1, 1e-9), someRow(SiteKind::NormOutput, "b", 2, 3e-10),
                   someRow(SiteKind::Output, "out_0", 0, 2e-8)});
    sorter.sort(DifferenceTable::MaxRel);
    QCOMPARE(sorter.index(0, DifferenceTable::Name).data().toString(), QStringLiteral("b"));
    QCOMPARE(sorter.index(2, DifferenceTable::Name).data().toString(), QStringLiteral("out_0"));
    sorter.sort(DifferenceTable::Step);
    QCOMPARE(sorter.index(2, DifferenceTable::Name).data().toString(), QStringLiteral("out_0"));
    QCOMPARE(table.index(0, DifferenceTable::Aligned).data().toString(), QStringLiteral("without the mean"));
    const QString ulps = table.index(0, DifferenceTable::Ulp).data(Qt::ToolTipRole).toString();
    QVERIFY2(ulps.contains(QStringLiteral("\n0: 5\n")), qPrintable(ulps));
    QCOMPARE(table.index(0, DifferenceTable::Rounding).data().toString(), QStringLiteral("–"));
    QCOMPARE(table.rowOfNorm(2), 1);
    QCOMPARE(table.rowOfNorm(7), -1);
  }

  void theMatrixHoldsEachPlaceOnceInEveryType() {
    DifferenceMatrix matrix;
    const QAbstractItemModelTester tester(&matrix, QAbstractItemModelTester::FailureReportingMode::QtTest);
    protocol::DiffResult wide, narrow, failed;
    wide.dtype = "float64";
    wide.rows = {someRow(SiteKind::NormInput, "a", 1, 1), someRow(SiteKind::NormOutput, "a", 1, 1e-16),
                 someRow(SiteKind::NormOutput, "b", 2, 2e-16)};
    narrow.dtype = "float32";
    narrow.rows = {someRow(SiteKind::NormOutput, "b", 2, 1e-7)};
    failed.dtype = "float16";
    failed.error = "there is no kernel";
    matrix.setColumns({wide, narrow, failed});
    QCOMPARE(matrix.places(), 2);
    QCOMPARE(matrix.types(), 3);
    QVERIFY(matrix.at(0, 0) != nullptr && matrix.at(0, 1) == nullptr);
    QCOMPARE(matrix.at(1, 1)->max_rel, 1e-7);
    QVERIFY(matrix.tip(0, 2).contains(QStringLiteral("There is no kernel.")));
    QCOMPARE(matrix.index(0, DifferenceMatrix::FirstType + 1).data().toString(), QStringLiteral("–"));
    QCOMPARE(matrix.placeOfNorm(2), 1);
  }

  void theScaleIsLogarithmicAndItsLightnessMonotone() {
    QCOMPARE(errorShare(0), 0.0);
    QCOMPARE(errorShare(1e-16), 0.0);
    QCOMPARE(errorShare(1e-8), 0.5);
    QCOMPARE(errorShare(std::numeric_limits<double>::infinity()), 1.0);
    QCOMPARE(errorShare(std::nan("")), 1.0);
    for (const Theme& theme : {lightTheme(), darkTheme()}) {
      const auto lightness = [&](double share) {
        const QColor color = shareColor(share, theme);
        return 0.2126 * color.redF() + 0.7152 * color.greenF() + 0.0722 * color.blueF();
      };
      for (int i = 0; i < 16; ++i) {
        const double step = lightness((i + 1) / 16.0) - lightness(i / 16.0);
        QVERIFY2(theme.dark ? step > 0 : step < 0, qPrintable(QString::number(i)));
      }
    }
  }

  void thereIsNothingToCompareBeforeAFold() {
    Shown shown(model_);
    showDifferences(shown);
    QVERIFY(!shown.child<QPushButton>("differenceGo")->isEnabled());
    QVERIFY(shown.child<QLabel>("differencesEmpty")->text().contains(QStringLiteral("Fold first")));
    shown.fold();
    QVERIFY(shown.child<QPushButton>("differenceGo")->isEnabled());
    for (const char* type : {"difference_float64", "difference_float32"})
      shown.child<QCheckBox>(type)->setChecked(false);
    QVERIFY2(!shown.child<QPushButton>("differenceGo")->isEnabled(), "no precision is chosen");
  }

  void eachPrecisionBecomesAColumnAndOneThatCannotSaysWhy() {
    Shown shown(model_);
    shown.child<QCheckBox>("difference_float16")->setChecked(true);
    shown.child<QSpinBox>("differenceBatches")->setValue(3);
    foldAndCompare(shown);
    QTRY_VERIFY(matrixOf(shown)->types() == 3 &&
                shown.child<QPushButton>("differenceGo")->text() == QStringLiteral("Compare"));
    QCOMPARE(matrixOf(shown)->places(), 10);  // nine norms and an output
    QVERIFY2(state(shown).contains(QStringLiteral("There is no kernel for float16")), qPrintable(state(shown)));
    auto* type = shown.child<QComboBox>("differenceType");
    QCOMPARE(type->count(), 2);
    auto* table = shown.child<QTableView>("differenceTable");
    QCOMPARE(table->model()->rowCount(), 19);
    QCOMPARE(table->model()->index(0, DifferenceTable::Batch).data().toString(), QStringLiteral("3"));
    const QString agreement = shown.child<ElidedLabel>("differenceAgreement")->accessibleName();
    QVERIFY2(agreement.contains(QStringLiteral("top-1 agrees in 100%")) && agreement.contains(QStringLiteral("98.75%")),
             qPrintable(agreement));
  }

  void aRowAndACellSelectTheNormInTheGraph() {
    Compared shown(model_);
    QTRY_COMPARE(matrixOf(shown)->types(), 2);
    auto* map = shown.child<PrecisionMap>("precisionMap");
    QSignalSpy chosen(map, &PrecisionMap::chosen);
    map->setFocus();
    map->setChosen(4, 1);
    QTest::keyClick(map, Qt::Key_Right);
    QTest::keyClick(map, Qt::Key_Return);
    QCOMPARE(chosen.size(), 1);
    QCOMPARE(shown.session.selection()->current().norm, 5);
    QCOMPARE(shown.child<QComboBox>("differenceType")->currentText(), QStringLiteral("float32"));
    shown.session.selection()->selectNorm(2);
    auto* table = shown.child<QTableView>("differenceTable");
    QCOMPARE(table->currentIndex().data(DifferenceTable::NormRole).toInt(), 2);
    table->setCurrentIndex(table->model()->index(0, 0));
    QCOMPARE(shown.session.selection()->current().norm, 0);
  }

  void theTensorsOfARowAreShownAndAClickLooksCloser() {
    Compared shown(model_);
    QTRY_COMPARE(matrixOf(shown)->types(), 2);
    chooseView(shown, 2);
    auto* words = shown.child<QLabel>("tensorPairWords");
    QVERIFY(words->text().contains(QStringLiteral("Select a row")));
    auto* table = shown.child<QTableView>("differenceTable");
    table->setCurrentIndex(table->model()->index(18, 0));
    auto* head = shown.child<ElidedLabel>("tensorPairHead");
    auto* map = shown.child<HeatMap>("pairDifference");
    QTRY_VERIFY(map->isVisible());
    QVERIFY(!shown.child<QPushButton>("tensorPairWhole")->isEnabled());
    QTest::mouseClick(map, Qt::LeftButton, {}, QPoint(map->width() / 2 + 1, map->height() / 2 + 1));
    QTRY_VERIFY2(head->accessibleName().contains(QStringLiteral("rows 4–11, columns 24–39")),
                 qPrintable(head->accessibleName()));
    shown.click("tensorPairWhole");
    QTRY_VERIFY(!head->accessibleName().contains(QStringLiteral("rows")));
    shown.click("tensorPairWorst");
    QTRY_VERIFY2(head->accessibleName().contains(QStringLiteral("columns 33–48")), qPrintable(head->accessibleName()));
  }

  void cancellingKeepsWhatIsDone() {
    Shown shown(model_, {QStringLiteral("--slow"), QStringLiteral("diff=300")});
    shown.child<QCheckBox>("difference_bfloat16")->setChecked(true);
    foldAndCompare(shown);
    auto* go = shown.child<QPushButton>("differenceGo");
    QCOMPARE(go->text(), QStringLiteral("Cancel"));
    QTRY_COMPARE(matrixOf(shown)->types(), 1);
    shown.click("differenceGo");
    QTRY_COMPARE(go->text(), QStringLiteral("Compare"));
    QTest::qWait(100);
    QCOMPARE(matrixOf(shown)->types(), 1);
    QVERIFY(!shown.child<QWidget>("differenceProgress")->isVisible());
  }

  void aFileThatIsNoModelIsTold() {
    Shown shown(model_);
    showDifferences(shown);
    shown.window.findChild<QAction*>(QStringLiteral("differenceFile"))->trigger();
    shown.answerFileDialog("differenceDialog", test::modelFile(folder_, QStringLiteral("broken.pt")));
    QTRY_COMPARE(shown.child<QPushButton>("differenceAgainst")->text(), QStringLiteral("broken.pt"));
    QVERIFY2(shown.child<QPushButton>("differenceGo")->isEnabled(), "no fold is needed");
    shown.click("differenceGo");
    QTRY_VERIFY2(state(shown).contains(QStringLiteral("is not a model")), qPrintable(state(shown)));
    QVERIFY(shown.child<QLabel>("differencesEmpty")->text().contains(QStringLiteral("is not a model")));
  }

  void anEdgeOfTheGraphBecomesARow() {
    Compared shown(model_);
    QTRY_COMPARE(matrixOf(shown)->types(), 2);
    const int value = shown.session.index().graph().nodes.at(4).outputs.front();
    Q_EMIT shown.window.workspace()->graph()->compareHereRequested(value);
    QTRY_COMPARE(matrixOf(shown)->places(), 11);
    QTRY_COMPARE(matrixOf(shown)->types(), 2);
    QCOMPARE(shown.window.workspace()->bottom()->tab(), BottomPanel::Differences);
  }

  void anotherPlanMakesThemVoid() {
    Compared shown(model_);
    QTRY_COMPARE(matrixOf(shown)->types(), 2);
    shown.session.choices()->keepNorm(3, true);
    QTRY_COMPARE(matrixOf(shown)->types(), 0);
    QVERIFY(shown.child<QLabel>("differencesEmpty")->isVisible());
  }

  void theFiguresAreCopied() {
    Compared shown(model_);
    QTRY_COMPARE(matrixOf(shown)->types(), 2);
    chooseView(shown, 1);
    auto* figures = shown.child<QTableView>("differenceFigures");
    QTRY_VERIFY(figures->isVisible());
    figures->setFocus();
    QTest::keyClick(figures, Qt::Key_C, Qt::ControlModifier);
    const QString copied = QGuiApplication::clipboard()->text();
    QVERIFY2(copied.startsWith(QStringLiteral("Place,What,float64,float32")), qPrintable(copied.left(60)));
    QCOMPARE(copied.count(u'\n'), 11);
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestDifferences>(argc, argv); }

#include "test_differences.moc"
