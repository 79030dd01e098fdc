// What is dragged on the page, as vectors.
#include "ui/learn/vector_camera.h"

#include <QtTest>
#include <cmath>
#include <random>

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

class VectorCameraTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
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

QTEST_APPLESS_MAIN(normlens::ui::VectorCameraTest)
#include "vector_camera_test.moc"
