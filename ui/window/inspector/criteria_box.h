// The paper's criterion and the exact verdict beside each other, where the two differ.
#pragma once

#include <QWidget>

#include "core/protocol/messages.h"

namespace normlens::ui {

class CriteriaBox final : public QWidget {
  Q_OBJECT

 public:
  explicit CriteriaBox(QWidget* parent = nullptr);

  // True when they differ: only then is there something to show.
  [[nodiscard]] static bool differs(const protocol::NormInfo& norm);
  void setNorm(const protocol::NormInfo& norm);
  [[nodiscard]] QSize sizeHint() const override { return {280, 66}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Side {
    QString caption, answer, note;
    bool bad = false;
  };
  void paintSide(QPainter& painter, const QRectF& area, const Side& side) const;

  Side paper_, exact_;
};

}  // namespace normlens::ui
