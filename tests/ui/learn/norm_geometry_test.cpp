// LayerNorm and RMSNorm as the lessons draw them, against the formulas that models compute.
#include "ui/learn/norm_geometry.h"

#include <QtTest>
#include <cmath>
#include <random>

#include "ui/learn/vector_camera.h"

namespace normlens::ui {
namespace {

Vector drawn(size_t width, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.7, 2);
  Vector x(width);
  for (double& each : x) each = normal(random);
  return x;
}

void close(double a, double b, double within = 1e-12) {
  QVERIFY2(std::abs(a - b) <= within, qPrintable(QStringLiteral("%1 is not %2").arg(a, 0, 'g', 17).arg(b, 0, 'g', 17)));
}

}  // namespace

class NormGeometryTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void projectionAndScalingAreTheFormulas() {
    for (const size_t width : {2U, 3U, 17U, 768U}) {
      const Vector x = drawn(width, 7), layerNorm = layerNormOf(x), rmsNorm = rmsNormOf(x);
      double mean = 0, square = 0, variance = 0;
      for (const double each : x) mean += each / static_cast<double>(width);
      for (const double each : x) square += each * each / static_cast<double>(width);
      for (const double each : x) variance += (each - mean) * (each - mean) / static_cast<double>(width);
      for (size_t i = 0; i < width; ++i) {
        close(layerNorm[i], (x[i] - mean) / std::sqrt(variance));
        close(rmsNorm[i], x[i] / std::sqrt(square));
      }
    }
  }

  void theyAgreeExactlyWhereTheMeanIsZero() {
    for (const size_t width : {3U, 64U}) {
      const Vector x = drawn(width, 3), centered = withoutMean(x);
      close(distance(layerNormOf(centered), rmsNormOf(centered)), 0);
      QVERIFY(distance(layerNormOf(x), rmsNormOf(x)) > 0.1);
    }
  }

  void outputsAreRootDLong() {
    for (const size_t width : {3U, 100U}) {
      close(lengthOf(layerNormOf(drawn(width, 1))), std::sqrt(static_cast<double>(width)), 1e-11);
      close(lengthOf(rmsNormOf(drawn(width, 1))), std::sqrt(static_cast<double>(width)), 1e-11);
    }
  }

  void anglesToTheUniformVector() {
    close(angleToUniform(Vector(5, 2.0)), 0, 1e-5);
    close(angleToUniform(Vector(5, -2.0)), 180, 1e-5);
    close(angleToUniform(layerNormOf(drawn(50, 2))), 90, 1e-10);
    close(angleToUniform(Vector(4, 0)), 90);
    close(angleToUniform(Vector{1, 0}), 45, 1e-12);
  }

  void nothingStaysNothing() {
    QCOMPARE(rmsNormOf(Vector(3, 0)), Vector(3, 0));
    QCOMPARE(layerNormOf(Vector(3, 4.0)), Vector(3, 0));
  }

  void aStreamOfMeanZeroNeedsOneNumberLess() {
    for (const size_t width : {2U, 3U, 17U, 768U}) {
      const Vector x = withoutMean(drawn(width, 9)), less = compressed(x);
      QCOMPARE(less.size(), width - 1);
      close(distance(restored(less), x), 0, 1e-11);
      close(distance(crmsNormOf(less), compressed(rmsNormOf(x))), 0, 1e-11);
    }
    const Vector withMean = drawn(8, 9);
    QVERIFY(distance(restored(compressed(withMean)), withMean) > 0.1);
    QCOMPARE(crmsNormOf(Vector(3, 0)), Vector(3, 0));
  }

  void whatIsDraggedComesBackFromThePage() {
    VectorCamera camera;
    camera.turn({40, -7});
    const Vector x = drawn(3, 5);
    close(distance(camera.withMeanOf(x, camera.onPage(x)), x), 0);
    close(distance(camera.alongUniform(x, camera.onPage(x)), x), 0);
    const Vector moved = camera.withMeanOf(x, camera.onPage(x) + QPointF(0.3, -0.2));
    close(meanOf(moved), meanOf(x));
    const Vector raised = camera.alongUniform(x, camera.onPage(x) + QPointF(0, -0.5));
    close(distance(withoutMean(raised), withoutMean(x)), 0);
    QVERIFY(meanOf(raised) > meanOf(x));
  }
};

}  // namespace normlens::ui

QTEST_APPLESS_MAIN(normlens::ui::NormGeometryTest)
#include "norm_geometry_test.moc"
