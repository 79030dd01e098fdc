// Formulas, a line each, set rather than written in one row: "LN(x) = √d · {x − μ1 | ‖x − μ1‖}", where braces hold a
// fraction. Single letters are slanted. Signs of equality are aligned below each other.
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

namespace normlens::ui {

// A run of text, or a fraction.
struct FormulaPart {
  QString text;         // or the numerator
  QString denominator;  // empty: no fraction
};

struct FormulaLine {
  QString left;  // Stands left of the first '='.
  std::vector<FormulaPart> right;
};

[[nodiscard]] std::vector<FormulaLine> parseFormulas(const QString& lines);

class FormulaView final : public QWidget {
  Q_OBJECT

 public:
  explicit FormulaView(QWidget* parent);

  void setFormulas(const QString& lines);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] static double rowHeight();

  std::vector<FormulaLine> lines_;
};

}  // namespace normlens::ui
