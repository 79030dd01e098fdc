// The strip of angles: which norm it shows, what it says of it, and random vectors where there is no model.
#include "ui/learn/angles/angle_strip.h"

#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QtTest>
#include <cmath>
#include <numeric>

#include "ui/learn/angles/angle_plot.h"

namespace normlens::ui {
namespace {

protocol::ProbeRow rowOf(const char* title, int64_t width, double angle) {
  protocol::ProbeRow row;
  row.title = title;
  row.kind = protocol::ProbedKind::LayerNorm;
  row.width = width;
  row.input.angle_deg = angle;
  row.input.rows = 10;
  row.bare_angle_deg = 90;
  row.input_angles = {angle - 1, 1, {4, 6}};
  row.random_angles = {88, 1, {4, 10, 6}};
  row.output_angles = {60, 1, {10}};
  return row;
}

}  // namespace

class AngleStripTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void randomVectorsStandAtARightAngle() {
    for (const int width : {64, 768}) {
      const protocol::ProbeRow row = randomRow(width, 4000, 3);
      const double expected = 180 / std::acos(-1.0) / std::sqrt(width);
      QVERIFY(std::abs(row.random.angle_deg - 90) < 5 * expected / std::sqrt(4000));
      QVERIFY(std::abs(row.random.angle_std - expected) < 0.06 * expected);
      QCOMPARE(std::accumulate(row.random_angles.counts.begin(), row.random_angles.counts.end(), int64_t{0}), 4000);
    }
  }

  void withoutAModelThereAreRandomVectorsOnly() {
    AngleStrip strip(nullptr);
    QVERIFY(!strip.number(QStringLiteral("inputAngle")));
    QVERIFY(std::abs(*strip.number(QStringLiteral("randomSpread")) - 2.07) < 0.2);
    QVERIFY(strip.findChild<QComboBox*>()->isHidden());
    protocol::ProbeResult none;
    none.rows = {rowOf("ln", 768, 85)};
    none.rows[0].reason = "these inputs do not come by it";
    strip.showGeometry(&none);
    QVERIFY(!strip.number(QStringLiteral("inputAngle")));
  }

  void aNormOfTheTaughtWidthIsChosenElseTheFirst() {
    AngleStrip strip(nullptr);
    protocol::ProbeResult result;
    result.rows = {rowOf("small", 64, 80), rowOf("taught", 768, 85), rowOf("other", 768, 86)};
    strip.showGeometry(&result);
    QCOMPARE(*strip.number(QStringLiteral("inputAngle")), 85.0);
    QCOMPARE(*strip.number(QStringLiteral("outputAngle")), 90.0);
    QSignalSpy changed(&strip, &AngleStrip::changed);
    strip.findChild<QComboBox*>()->setCurrentIndex(0);
    QCOMPARE(changed.count(), 1);
    QCOMPARE(*strip.number(QStringLiteral("inputAngle")), 80.0);
    result.rows.resize(1);
    strip.showGeometry(&result);
    QCOMPARE(*strip.number(QStringLiteral("inputAngle")), 80.0);
    QVERIFY(strip.accessibleName().contains(QStringLiteral("small")));
  }

  void thePlotReachesAsFarAsItsAngles() {
    AnglePlot plot(nullptr);
    plot.resize(400, 160);
    plot.setAngles({{83.2, 0.5, {3, 2}}, {88, 1, {1, 2, 1}}, {}, 90});
    QCOMPARE(plot.reach(), 10.0);
    QVERIFY(plot.placeOf(83, 0).x() < plot.placeOf(90, 0).x());
    plot.setAngles({{83.2, 0.5, {3, 2}}, {88, 1, {1, 2, 1}}, {60, 1, {5}}, 90});
    QCOMPARE(plot.reach(), 30.0);  // the output is shown too
    plot.setAngles({});
    QCOMPARE(plot.reach(), 5.0);
  }
};

}  // namespace normlens::ui

QTEST_MAIN(normlens::ui::AngleStripTest)
#include "angle_strip_test.moc"
