// A badge wraps where its words are wider than its place: none is cut.
#include <QtTest>

#include "ui/widgets/badge.h"

namespace normlens::ui {

class BadgeTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void wordsWrap() {
    Badge badge;
    badge.set(Badge::Tone::Good, QStringLiteral("verify"), QStringLiteral("Exact in float64 and float32"));
    const QSize whole = badge.sizeHint();
    QCOMPARE(badge.heightForWidth(whole.width()), whole.height());
    const int half = whole.width() * 2 / 3;
    QVERIFY(badge.heightForWidth(half) > whole.height());
    QVERIFY(badge.minimumSizeHint().width() < half);
    badge.set(Badge::Tone::Good, {}, QStringLiteral("float64"));
    QCOMPARE(badge.minimumSizeHint().width(), badge.sizeHint().width());  // one word is not cut
  }
};

}  // namespace normlens::ui

QTEST_MAIN(normlens::ui::BadgeTest)

#include "badge_test.moc"
