// Where figures by depth lie: on their place, within the plot, and with gaps where there are none.
#include "ui/widgets/plots/depth_scale.h"

#include <QtTest>
#include <cmath>
#include <limits>

namespace normlens::ui {

class DepthScaleTest final : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void powersOfTenLieEvenly() {
    const DepthScale scale{{10, 20, 100, 80}, 4, true, -8, 0};
    QCOMPARE(scale.step(), 25.0);
    QCOMPARE(scale.at(0, 1), QPointF(22.5, 20));
    QCOMPARE(scale.at(3, 1e-4), QPointF(97.5, 60));
    QCOMPARE(scale.at(1, 0).y(), 100.0);
    QCOMPARE(scale.at(1, 1e-20).y(), 100.0);
    QCOMPARE(scale.at(1, std::numeric_limits<double>::infinity()).y(), 20.0);
    QCOMPARE(scale.ticks(4), (std::vector<double>{0, -2, -4, -6, -8}));
    QCOMPARE(scale.ticks(3), (std::vector<double>{0, -3, -6}));
  }

  void plainFiguresLieEvenly() {
    const DepthScale scale{{0, 0, 100, 100}, 2, false, 80, 100};
    QCOMPARE(scale.at(0, 90), QPointF(25, 50));
    QCOMPARE(scale.at(0, 200).y(), 0.0);
    QCOMPARE(scale.ticks(4).size(), size_t{5});
  }

  void placesAreFoundAgain() {
    const DepthScale scale{{10, 20, 100, 80}, 4, true, -8, 0};
    for (int place = 0; place < 4; ++place) QCOMPARE(scale.placeAt(scale.at(place, 1e-3)), place);
    QCOMPARE(scale.placeAt({5, 50}), -1);
    QCOMPARE((DepthScale{{10, 20, 100, 80}, 0, true, -8, 0}).placeAt({50, 50}), -1);
  }

  void aLineHasAGapWhereThereIsNoFigure() {
    const DepthScale scale{{0, 0, 100, 100}, 4, true, -8, 0};
    const auto path = pathThrough(scale, [](int place) { return place == 2 ? std::nan("") : 1e-4; });
    QCOMPARE(path.elementCount(), 3);
    QVERIFY(path.elementAt(0).isMoveTo() && path.elementAt(1).isLineTo() && path.elementAt(2).isMoveTo());
  }

  void powersReadPlainly() {
    QCOMPARE(powerOfTen(-1), QStringLiteral("0.1"));
    QCOMPARE(powerOfTen(0), QStringLiteral("1"));
    QCOMPARE(powerOfTen(3), QStringLiteral("1000"));
    QCOMPARE(powerOfTen(-16), QStringLiteral("1e-16"));
  }
};

}  // namespace normlens::ui

QTEST_APPLESS_MAIN(normlens::ui::DepthScaleTest)
#include "depth_scale_test.moc"
