// A list of properties in little room: the name gives way, the figure stays whole; a long value is elided.
#include "ui/widgets/property_list.h"

#include <QtTest>

#include "ui/widgets/elided_label.h"

namespace normlens::ui {

class PropertyListTest final : public QObject {
  Q_OBJECT

  static ElidedLabel* labelOf(const PropertyList& list, const QString& text) {
    for (auto* label : list.findChildren<ElidedLabel*>()) {
      if (label->accessibleName() == text) return label;
    }
    return nullptr;
  }

 private Q_SLOTS:
  void theNameGivesWayBeforeTheFigure() {
    const QString name = QStringLiteral("largest relative difference"), figure = QStringLiteral("1.06e-08");
    const QString path = QStringLiteral("/models/").repeated(40);
    PropertyList list;
    list.setProperties({{name, figure, {}}, {QStringLiteral("file"), path, {}}});
    list.resize(160, 60);
    list.show();
    QTRY_VERIFY(labelOf(list, figure)->width() > 24);
    QCOMPARE(labelOf(list, figure)->text(), figure);
    QVERIFY(labelOf(list, name)->text().endsWith(u'…'));
    QVERIFY(labelOf(list, path)->text().contains(u'…'));
    QVERIFY(list.width() <= 160);
    list.resize(600, 60);
    QTRY_COMPARE(labelOf(list, name)->text(), name);
  }

  void wordsAreWrapped() {
    const QString words = QStringLiteral("4e-6 = 6 × the original's own error");
    PropertyList list;
    list.setProperties({{QStringLiteral("allowed"), words, {}}});
    list.resize(200, 80);
    list.show();
    QTRY_COMPARE(labelOf(list, words)->text(), words);
    QTRY_VERIFY(labelOf(list, words)->height() >= 2 * labelOf(list, words)->fontMetrics().height());
    QCOMPARE(labelOf(list, QStringLiteral("allowed"))->text(), QStringLiteral("allowed"));
  }
};

}  // namespace normlens::ui

QTEST_MAIN(normlens::ui::PropertyListTest)
#include "property_list_test.moc"
