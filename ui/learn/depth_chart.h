// Figures of norms by depth: one place for each norm, in the order in which they run; series with marks, lines or bars,
// a spread where there is one, a band to compare with. Places are chosen by a click.
#pragma once

#include <QColor>
#include <QString>
#include <QWidget>
#include <optional>
#include <vector>

#include "ui/learn/vector_scene.h"

namespace normlens::ui {

struct DepthSeries {
  enum class Way { Marks, Line, Bars };
  QString name;
  Way way = Way::Marks;
  SceneMark::Shape mark = SceneMark::Shape::Ring;
  QColor Theme::*color;
  std::vector<double> values;   // NaN: none there
  std::vector<double> spreads;  // empty, or of each value
};

struct DepthAxis {
  bool logarithmic = false;
  double low = 0, high = 1;  // of a logarithmic one: powers of ten
  QString unit;
};

// A level that holds for all places, and how far about it.
struct DepthBand {
  double level = 0, about = 0;
  QString words;
};

class DepthChart final : public QWidget {
  Q_OBJECT

 public:
  DepthChart(const QString& title, const QString& caption, QWidget* parent);

  void setSeries(std::vector<DepthSeries> series, const DepthAxis& axis, const std::optional<DepthBand>& band = {});
  void setNames(const QStringList& names);  // of the places
  void setChosen(int place);                // -1: none
  [[nodiscard]] QPointF placeOf(int place, double value) const;
  [[nodiscard]] QSize sizeHint() const override { return {420, 220}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {240, 150}; }

 Q_SIGNALS:
  void chosen(int place);  // by the user

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] QRectF plotArea() const;
  [[nodiscard]] double step() const;  // pixels a place
  [[nodiscard]] int placeAt(const QPointF& at) const;
  [[nodiscard]] QString tickWords(double value) const;
  void paintGround(QPainter& painter) const;
  void paintLegend(QPainter& painter) const;
  void paintSeries(QPainter& painter, const DepthSeries& series) const;

  QString title_, caption_;
  QStringList names_;
  std::vector<DepthSeries> series_;
  DepthAxis axis_;
  std::optional<DepthBand> band_;
  int chosen_ = -1;
};

// The powers of ten around these values, at least two apart; those that are not above 0 are left out.
[[nodiscard]] DepthAxis logarithmicAxis(std::initializer_list<const std::vector<double>*> values);

}  // namespace normlens::ui
