// What the lesson on speed plays is the norm itself, and its counts are those that the text tells.
#include "ui/learn/norm_passes.h"

#include <QtTest>
#include <random>

namespace normlens::ui {
namespace {

struct Row {
  Vector x, gamma, beta;
};

Row drawn(size_t width) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal(-0.4, 1.7);
  Row row{Vector(width), Vector(width), Vector(width)};
  for (Vector* each : {&row.x, &row.gamma, &row.beta}) {
    for (double& number : *each) number = normal(random);
  }
  return row;
}

}  // namespace

class NormPassesTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void whatIsPlayedIsTheNorm() {
    for (const size_t width : {1U, 2U, 16U, 768U}) {
      const Row row = drawn(width);
      const Vector none(width, 0);
      if (width > 1) {  // of one number nothing is left without the mean
        const Vector wanted = scaledAndShifted(layerNormOf(row.x), row.gamma, row.beta);
        for (const NormWay way : {NormWay::LayerNormTwoPasses, NormWay::LayerNormOnePass})
          QVERIFY(distance(passesOf(way, row.x, row.gamma, row.beta).output, wanted) < 1e-10);
      }
      const Vector wanted = scaledAndShifted(rmsNormOf(row.x), row.gamma, none);
      QVERIFY(distance(passesOf(NormWay::RmsNorm, row.x, row.gamma, row.beta).output, wanted) < 1e-10);
    }
  }

  void operationsAreThoseOfThePaper() {
    const Row row = drawn(32);
    const auto perNumber = [&](NormWay way) {
      return passesOf(way, row.x, row.gamma, row.beta).last().operations / 32.0;
    };
    QCOMPARE(perNumber(NormWay::LayerNormTwoPasses), 7.0);
    QCOMPARE(perNumber(NormWay::RmsNorm), 4.0);
    QVERIFY(perNumber(NormWay::LayerNormOnePass) > 7);
  }

  void eachPassReadsTheRowAndTheLastWritesIt() {
    const Row row = drawn(8);
    const int passes[] = {3, 2, 2};
    for (int way = 0; way < 3; ++way) {
      const NormPasses made = passesOf(static_cast<NormWay>(way), row.x, row.gamma, row.beta);
      QCOMPARE(static_cast<int>(made.passes.size()), passes[way]);
      QCOMPARE(made.last().reads, 8 * passes[way]);
      QCOMPARE(made.last().writes, 8);
      QCOMPARE(static_cast<int>(made.steps.size()), 8 * passes[way]);
    }
  }
};

}  // namespace normlens::ui

QTEST_APPLESS_MAIN(normlens::ui::NormPassesTest)
#include "norm_passes_test.moc"
