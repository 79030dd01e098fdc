// Figures of norms by depth: one place for each norm, in the order in which they run; series with marks, lines or bars,
// a spread where there is one, levels to compare with. Places are chosen by a click.
#pragma once

#include <QColor>
#include <QString>
#include <QWidget>
#include <vector>

#include "ui/learn/vector_scene.h"
#include "ui/widgets/plots/depth_scale.h"

namespace normlens::ui {

struct DepthSeries {
  // Stems: marks on a line from the foot. Limit: a dash at each place, without marks.
  enum class Way { Marks, Line, Bars, Stems, Limit };
  QString name;
  Way way = Way::Marks;
  SceneMark::Shape mark = SceneMark::Shape::Ring;
  QColor Theme::*color;
  std::vector<double> values;   // NaN: none there
  std::vector<double> spreads;  // empty, or of each value
};

struct DepthAxis {
  bool logarithmic = false;
  double low = 0, high = 1;  // A logarithmic axis has powers of ten.
  QString unit;
};

// A level that holds for all places, how far about it, and what it is in words at one end of it.
struct DepthBand {
  double level = 0, about = 0;
  QString words;
  QColor Theme::*color = nullptr;  // nullptr: that of captions
  bool wordsAtEnd = false;
};

class DepthChart final : public QWidget {
  Q_OBJECT

 public:
  DepthChart(QString title, QString caption, QWidget* parent);

  void setSeries(std::vector<DepthSeries> series, const DepthAxis& axis, std::vector<DepthBand> bands = {});
  void setNames(const QStringList& names);  // Names the places.
  void setChosen(int place);                // -1: none
  void setNamesChosen(bool names);          // the chosen one's name is written in the chart
  [[nodiscard]] QPointF placeOf(int place, double value) const;
  void paint(QPainter& painter) const;  // as it is shown, without what lies over it
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
  [[nodiscard]] bool legendHasRoom() const;  // beside the title
  [[nodiscard]] DepthScale scale() const;
  [[nodiscard]] QString tickWords(double value) const;
  void paintGround(QPainter& painter) const;
  void paintAxes(QPainter& painter) const;
  void paintBand(QPainter& painter, const DepthBand& band) const;
  void paintChosen(QPainter& painter) const;
  void paintSpread(QPainter& painter, int place, double value, double spread) const;
  void paintLegend(QPainter& painter) const;
  void paintSeries(QPainter& painter, const DepthSeries& series) const;

  QString title_, caption_;
  QStringList names_;
  std::vector<DepthSeries> series_;
  DepthAxis axis_;
  std::vector<DepthBand> bands_;
  int chosen_ = -1;
  bool namesChosen_ = false;
};

// The powers of ten around these values, at least two apart; those that are not above 0 are left out.
[[nodiscard]] DepthAxis logarithmicAxis(std::initializer_list<const std::vector<double>*> values);

}  // namespace normlens::ui
