// The reduced network of a minimum cut: values whose mean could be taken away at run time at the left, the norms that
// wait for it at the right. Bars are prices and savings, their filled part is the flow; the cut goes through full bars.
#pragma once

#include <QStringList>

#include "core/protocol/lesson_messages.h"
#include "ui/learn/live/scaled_plot.h"

namespace normlens::ui {

class CutView final : public ScaledPlot {
  Q_OBJECT

 public:
  explicit CutView(QWidget* parent);

  // norms: names, of each of cut.norms. trouble: why there is nothing to draw; empty: there is.
  void setCut(const protocol::CenteringCut& cut, const QStringList& norms, const QString& trouble);
  [[nodiscard]] QSize minimumSizeHint() const override { return {440, 220}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Columns {
    QRectF value, price, norm, saving;
    double triangle = 0;
  };
  struct Rows {
    std::vector<size_t> shown;  // Index cut_.values, the largest.
    double top = 0, valueStep = 0, normStep = 0;
  };
  [[nodiscard]] Columns columns(const QRectF& area) const;
  [[nodiscard]] Rows rows(const QRectF& area) const;
  void paintValues(QPainter& painter, const QRectF& area) const;
  void paintLinks(QPainter& painter, const QRectF& area) const;
  void paintNorms(QPainter& painter, const QRectF& area) const;
  // full: of the longest bar.
  void paintBar(QPainter& painter, const QRectF& room, double full, double flow, bool cut) const;
  [[nodiscard]] QFont fontFor(double tall) const;  // Fits names in a row so tall.
  [[nodiscard]] size_t shownNorms() const;
  [[nodiscard]] double largest() const;

  protocol::CenteringCut cut_;
  QStringList norms_;
  QString trouble_;
};

// "3.8 µs", or "2 048 elements" where nothing was measured.
[[nodiscard]] QString amountWords(double amount, bool measured);

}  // namespace normlens::ui
