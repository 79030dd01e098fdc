// The tests hold numbers to one rule for each kind of figure.
#include "ui/words/format.h"

#include <QtTest>
#include <limits>

#include "ui/words/bench_text.h"

namespace normlens::ui {

class FormatTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void timesChangeTheirUnit() {
    QCOMPARE(formatMicroseconds(0), QStringLiteral("0.0 µs"));
    QCOMPARE(formatMicroseconds(4.06), QStringLiteral("4.1 µs"));
    QCOMPARE(formatMicroseconds(99.44), QStringLiteral("99.4 µs"));
    QCOMPARE(formatMicroseconds(157.2), QStringLiteral("157 µs"));
    QCOMPARE(formatMicroseconds(999.4), QStringLiteral("999 µs"));
    QCOMPARE(formatMicroseconds(999.6), QStringLiteral("1.00 ms"));
    QCOMPARE(formatMilliseconds(0.42), QStringLiteral("420 µs"));
    QCOMPARE(formatMilliseconds(12.4), QStringLiteral("12.4 ms"));
    QCOMPARE(formatMilliseconds(999.4), QStringLiteral("999 ms"));
    QCOMPARE(formatMilliseconds(999.6), QStringLiteral("1.00 s"));
    QCOMPARE(formatMilliseconds(11000), QStringLiteral("11.0 s"));
  }

  void mediansHaveAtMostFourDigits() {
    QCOMPARE(formatMedian(0.0521), QStringLiteral("0.052"));
    QCOMPARE(formatMedian(2.1974), QStringLiteral("2.197"));
    QCOMPARE(formatMedian(9.9996), QStringLiteral("10.00"));
    QCOMPARE(formatMedian(12.4), QStringLiteral("12.40"));
    QCOMPARE(formatMedian(123.44), QStringLiteral("123.4"));
    QCOMPARE(formatMedian(1234.4), QStringLiteral("1234"));
  }

  // An interval that touches 1.00, as it is written, is no gain.
  void speedUpsHaveTheirInterval() {
    QCOMPARE(formatInterval(1.031, 1.068), QStringLiteral("1.03–1.07"));
    QCOMPARE(formatSpeedup(1.05, 1.03, 1.07), QStringLiteral("1.05× (1.03–1.07)"));
    QCOMPARE(formatSpeedup(1.01, 1.0, 1.01), QStringLiteral("no clear gain · 1.01× (1.00–1.01)"));
    QCOMPARE(formatSpeedup(1.01, 1.004, 1.02), QStringLiteral("no clear gain · 1.01× (1.00–1.02)"));
    QCOMPARE(formatSpeedup(0.9, 0.88, 0.92), QStringLiteral("0.90× (0.88–0.92)"));
  }

  void smallErrorsHaveOneDigit() {
    QCOMPARE(formatError(0), QStringLiteral("0"));
    QCOMPARE(formatError(2.3e-15), QStringLiteral("2e-15"));
    QCOMPARE(formatError(3.1e-7), QStringLiteral("3e-7"));
    QCOMPARE(formatError(0.0312), QStringLiteral("0.031"));
    QCOMPARE(formatError(0.314), QStringLiteral("0.31"));
    QCOMPARE(formatError(1234), QStringLiteral("1.2e3"));
    QCOMPARE(formatError(std::numeric_limits<double>::infinity()), QStringLiteral("inf"));
    QCOMPARE(formatError(std::numeric_limits<double>::quiet_NaN()), QStringLiteral("nan"));
  }

  void exponentsHaveNoZero() {
    QCOMPARE(formatNumber(1e-5), QStringLiteral("1e-5"));
    QCOMPARE(formatNumber(-1.25e7), QStringLiteral("-1.25e7"));
    QCOMPARE(formatNumber(2e-10), QStringLiteral("2e-10"));
  }

  void bytesAreDecimal() {
    QCOMPARE(formatBytes(999), QStringLiteral("999 B"));
    QCOMPARE(formatBytes(1'500'000), QStringLiteral("1.5 MB"));
    QCOMPARE(formatBytes(13'000'000), QStringLiteral("13 MB"));
    QCOMPARE(formatBytes(197'000), QStringLiteral("197 kB"));
    QCOMPARE(formatBytes(9'960'000), QStringLiteral("10 MB"));
  }

  void sharesAndCounts() {
    QCOMPARE(formatPercent(0), QStringLiteral("0%"));
    QCOMPARE(formatPercent(0.047), QStringLiteral("4.7%"));
    QCOMPARE(formatPercent(0.0996), QStringLiteral("10%"));
    QCOMPARE(formatPercent(0.123), QStringLiteral("12%"));
    QCOMPARE(formatShare(13, 13), QStringLiteral("13 of 13"));
    QCOMPARE(formatShare(3, 5, 2), QStringLiteral("3 of 5, 2 not known"));
    QCOMPARE(formatCount(12345), QStringLiteral("12,345"));
  }

  void namesLongerThanALineMayBreakAtTheirDots() {
    QCOMPARE(withNameBreaks(QStringLiteral("from layer.1.norm.")), QStringLiteral("from layer.\u20601.\u2060norm."));
    const QString name = QStringLiteral("roberta.embeddings.position_embeddings.weight");
    QCOMPARE(withNameBreaks(name),
             QString(name).replace(u'.', QStringLiteral(".\u200b")).replace(u'_', QStringLiteral("_\u200b")));
    QCOMPARE(withNameBreaks(QStringLiteral("h.0"), 0), QStringLiteral("h.\u200b0"));
  }
};

}  // namespace normlens::ui

QTEST_MAIN(normlens::ui::FormatTest)
#include "format_test.moc"
