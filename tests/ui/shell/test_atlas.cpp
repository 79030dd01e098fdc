// The atlas of architectures: it needs no engine and no model, its rows are those of the JSON, it sorts and filters
// them, and says what is known of the chosen one.
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>

#include "tests/ui/shell/shown_window.h"
#include "ui/models/atlas_table.h"
#include "ui/window/actions.h"
#include "ui/window/learn/atlas_page.h"

namespace normlens::ui {

class AtlasTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void theStartPageLeadsThere() {
    Shown shown;
    shown.click("welcomeAtlas");
    QVERIFY(shown.child<QTableView>("atlasTable")->isVisible());
    QVERIFY(!shown.child<QWidget>("toolBar")->isVisible());
    QTest::keyClick(shown.child<AtlasPage>("atlasPage"), Qt::Key_Escape);
    QVERIFY(shown.child<QWidget>("welcome")->isVisible());
  }

  void verdictsSumToTheNorms() {
    const AtlasTable table;
    QVERIFY(table.rowCount() >= 120);
    for (const AtlasRow& row : table.rows()) {
      QVERIFY2(row.free + row.centering + row.blocked + row.unknown == row.norms, qPrintable(row.name));
      QVERIFY2(!row.reason.isEmpty(), qPrintable(row.name));
    }
  }

  void wordsAndGroupsFilter() {
    Shown shown;
    shown.window.actions()->atlas->trigger();
    const auto* rows = shown.child<QTableView>("atlasTable")->model();
    const int all = rows->rowCount();
    shown.child<QLineEdit>("atlasFilter")->setText(QStringLiteral("bert Model"));
    QVERIFY(rows->rowCount() > 0 && rows->rowCount() < all);
    for (int row = 0; row < rows->rowCount(); ++row)
      QVERIFY(
          rows->index(row, AtlasTable::Name).data().toString().contains(QStringLiteral("bert"), Qt::CaseInsensitive));
    shown.child<QLineEdit>("atlasFilter")->setText(QStringLiteral("no such architecture"));
    QCOMPARE(rows->rowCount(), 0);
    QCOMPARE(shown.child<QLabel>("atlasName")->text(), QStringLiteral("No matches."));
    QVERIFY(!shown.child<QLabel>("atlasNote")->isVisible());
    shown.child<QLineEdit>("atlasFilter")->clear();
    QCOMPARE(shown.child<QLabel>("atlasName")->text(), rows->index(0, AtlasTable::Name).data().toString());
    QVERIFY(shown.child<QLabel>("atlasNote")->isVisible());
    shown.child<QComboBox>("atlasGroups")->setCurrentIndex(8);  // those of the papers' table
    QCOMPARE(rows->rowCount(), 6);
    QVERIFY(shown.child<QLabel>("atlasTotals")->text().startsWith(QStringLiteral("6 architectures · 131 norms")));
    shown.click("atlasCopy");
    const QString copied = QGuiApplication::clipboard()->text();
    QVERIFY(copied.contains(QStringLiteral("toprule")) && copied.contains(QStringLiteral("24, 25 of 25")));
  }

  void aHeadingSorts() {
    Shown shown;
    shown.window.actions()->atlas->trigger();
    auto* table = shown.child<QTableView>("atlasTable");
    QCOMPARE(table->model()->index(0, AtlasTable::Name).data().toString(), QStringLiteral("GPT-2"));
    table->sortByColumn(AtlasTable::Norms, Qt::DescendingOrder);
    const auto norms = [&](int row) { return table->model()->index(row, AtlasTable::Norms).data().toInt(); };
    for (int row = 1; row < table->model()->rowCount(); ++row) QVERIFY(norms(row - 1) >= norms(row));
  }

  void theChosenRowIsExplained() {
    Shown shown;
    shown.window.actions()->atlas->trigger();
    auto* table = shown.child<QTableView>("atlasTable");
    shown.child<QLineEdit>("atlasFilter")->setText(QStringLiteral("transformers.BertModel"));
    QCOMPARE(table->model()->rowCount(), 1);
    table->selectRow(0);
    QCOMPARE(shown.child<QLabel>("atlasName")->text(), QStringLiteral("BERT"));
    QCOMPARE(shown.child<QLabel>("atlasNote")->text(), QStringLiteral(".pt2 and .onnx agree."));
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::AtlasTest>(argc, argv); }
#include "test_atlas.moc"
