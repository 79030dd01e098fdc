// The frame of a page of the dock: columns side by side in an area that scrolls, or a notice where there is nothing to
// show.
#pragma once

#include <QLabel>
#include <QScrollArea>
#include <QStackedLayout>

#include "core/protocol/proof_text.h"
#include "ui/widgets/badge.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

// Never good where the fold is off by more than rounding.
inline void showProof(Badge* badge, const protocol::VerifyResult& proof) {
  const bool refuted = proof.exact == false, doubtful = !protocol::proofCaution(proof).empty(),
             exact = proof.exact == true;
  badge->set(refuted || doubtful ? Badge::Tone::Blocked
             : exact             ? Badge::Tone::Good
                                 : Badge::Tone::Neutral,
             QLatin1String(refuted    ? "blocked"
                           : doubtful ? "warning"
                           : exact    ? "verify"
                                      : "info"),
             text(protocol::proofTitle(proof)));
}

class ColumnsPage : public QWidget {
 protected:
  ColumnsPage(int gap, QWidget* parent)
      : QWidget(parent),
        notice_(makeNotice(this)),
        area_(makeScrollArea(this, tr("Figures"))),
        body_(new QWidget(area_)) {
    area_->setWidget(body_);
    row_ = makeRow(body_, gap, {16, 12, 16, 12});
    auto* stack = new QStackedLayout(this);
    stack->addWidget(notice_);
    stack->addWidget(area_);
  }

  // Adds a column with a title behind those before it; share: of the width.
  QVBoxLayout* addColumn(const QString& title, int spacing, int share = 1, const QString& tip = {}) {
    if (row_->count() > 0) row_->addWidget(makeLine(Qt::Vertical, body_));
    auto* column = makeColumn(nullptr, spacing);
    addTitle(column, title, tip);
    row_->addLayout(column, share);
    return column;
  }
  void addTitle(QVBoxLayout* column, const QString& title, const QString& tip = {}) {
    if (column->count() > 0) column->addSpacing(14);
    QLabel* label = makeLabel(title, "section", body_);
    label->setToolTip(tip);
    column->addWidget(label);
  }
  [[nodiscard]] QWidget* body() const { return body_; }  // the parent of what the columns hold
  [[nodiscard]] QLabel* notice() const { return notice_; }
  void showColumns(bool shown) {
    static_cast<QStackedLayout*>(layout())->setCurrentWidget(shown ? static_cast<QWidget*>(area_) : notice_);
  }

 private:
  QLabel* notice_;
  QScrollArea* area_;
  QWidget* body_;
  QHBoxLayout* row_;
};

}  // namespace normlens::ui
