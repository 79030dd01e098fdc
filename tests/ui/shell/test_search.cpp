// Search: by name, fields and patterns, in models of any size.
#include <QtTest>

#include "tests/support/graph_documents.h"
#include "tests/ui/shell/printed_model.h"
#include "tests/ui/shell/shell_test.h"
#include "ui/models/search/search_model.h"
#include "ui/session/model_index.h"

namespace normlens::ui {

class TestSearch final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void searchFindsByNameBestFirst() {
    SearchModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    QCOMPARE(model.rowCount(), 0);
    model.setEntries({{SearchModel::Target::Norm, 4, QStringLiteral("h.0.ln_1"), QStringLiteral("Blocked"), {}},
                      {SearchModel::Target::Command, 2, QStringLiteral("Undo ln_1"), {}, {}}});
    QCOMPARE(model.rowCount(), 0);  // nothing was asked for
    const ModelIndex index(test::gpt2Document(2));
    model.setIndex(&index);
    model.setQuery(QStringLiteral("h.1.ln_2"));
    QTRY_VERIFY(!model.searching());
    QVERIFY(model.rowCount() > 0);
    QCOMPARE(model.index(0).data().toString(), QStringLiteral("transformer.h.1.ln_2"));
    model.setQuery(QStringLiteral("LN_1"));
    QTRY_VERIFY(!model.searching());
    QVERIFY(printed(model).contains(QStringLiteral("Undo ln_1")));
    QCOMPARE(model.index(0).data(SearchModel::IdRole).toInt(), 4);  // it ends with the word
    model.setQuery(QStringLiteral("nothing has this name"));
    QTRY_VERIFY(!model.searching());
    QCOMPARE(model.rowCount(), 0);
    model.setIndex(nullptr);
    model.setEntries({});
    QCOMPARE(model.hitCount(), 0);
  }

  void searchKnowsFieldsAndPatterns_data() {
    QTest::addColumn<QString>("query");
    QTest::addColumn<int>("hits");
    // Two blocks of GPT-2: five norms, eight addmm in Conv1Ds.
    QTest::newRow("op") << "op:layer_norm" << 5;
    QTest::newRow("op, another case") << "OP:Layer_Norm" << 5;
    QTest::newRow("no such op") << "op:ln_1" << 0;
    QTest::newRow("name") << "name:c_attn.addmm" << 2;
    QTest::newRow("name is not op") << "name:aten::" << 0;
    QTest::newRow("shape") << "shape:1024x50257" << 2;
    QTest::newRow("shape, written otherwise") << "shape:[1024,50257]" << 2;
    QTest::newRow("shape with any size") << "shape:?x1024x50257" << 2;
    QTest::newRow("a size that is none") << "shape:7777" << 0;
    QTest::newRow("two words") << "op:addmm shape:3072" << 2;
    QTest::newRow("dtype") << "dtype:int32" << 0;
    QTest::newRow("pattern") << "name:/ln_[12]\\.?/ op:norm" << 4;
    QTest::newRow("pattern anywhere") << "/^aten::addmm$/" << 8;
    QTest::newRow("quotes") << "\"no such thing\"" << 0;
    QTest::newRow("prefix alone") << "op:" << 0;
  }

  void searchKnowsFieldsAndPatterns() {
    QFETCH(const QString, query);
    QFETCH(const int, hits);
    const ModelIndex index(test::gpt2Document(2));
    SearchModel model;
    const QAbstractItemModelTester tester(&model, kFatal);
    model.setIndex(&index);
    model.setQuery(query);
    QTRY_VERIFY(!model.searching());
    QVERIFY2(model.hitCount() == hits, qPrintable(printed(model)));
  }

  void searchFindsAttributes() {
    auto document = std::make_shared<protocol::GraphDocument>(*test::gpt2Document(1));
    document->nodes[3].attributes = {{"axis", "-1"}, {"eps", "1e-05"}};
    const ModelIndex index(document);
    SearchModel model;
    model.setIndex(&index);
    model.setQuery(QStringLiteral("attr:axis=-1"));
    QTRY_VERIFY(!model.searching());
    QCOMPARE(model.hitCount(), 1);
    QCOMPARE(model.index(0).data(SearchModel::IdRole).toInt(), document->nodes[3].id);
    model.setQuery(QStringLiteral("attr:axis=0"));
    QTRY_VERIFY(!model.searching());
    QCOMPARE(model.hitCount(), 0);
  }

  void aPatternThatIsNotCompleteSaysSo() {
    SearchModel model;
    model.setQuery(QStringLiteral("/ln_[12/"));
    QVERIFY(!model.error().isEmpty());
    QCOMPARE(model.hitCount(), 0);
    model.setQuery(QStringLiteral("/ln_[12]/"));
    QVERIFY(model.error().isEmpty());
  }

  void searchInALargeModelLeavesTimeForOtherThings() {
    constexpr int kTowers = 48, kLayers = 224;  // too many for one slice of any machine
    const ModelIndex index(test::towersDocument(kTowers, kLayers));
    SearchModel model;
    model.setIndex(&index);
    model.setQuery(QStringLiteral("op:/addmm|norm/"));
    QVERIFY(model.searching());  // not at once
    QTRY_VERIFY(!model.searching());
    QCOMPARE(model.hitCount(), kTowers * (kLayers * 6 + 1));
    QCOMPARE(model.rowCount(), SearchModel::kMaxRows);
    QCOMPARE(model.hit(model.hitCount() - 1).target, SearchModel::Target::Node);
  }
};

}  // namespace normlens::ui

int main(int argc, char** argv) { return normlens::test::runShellTest<normlens::ui::TestSearch>(argc, argv); }

#include "test_search.moc"
