#include "ui/widgets/needs_list.h"

#include <QAbstractButton>
#include <QPainter>

#include "ui/theme/class_mark.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/frames.h"

namespace normlens::ui {

class NeedRow final : public QAbstractButton {
 public:
  NeedRow(const Need& need, QWidget* parent) : QAbstractButton(parent), need_(need) {
    setTextHeight(this, 22);
    setFocusPolicy(Qt::TabFocus);
    setAttribute(Qt::WA_Hover);
    const QString whole = need.note.isEmpty() ? need.name : need.name + QStringLiteral(", ") + need.note;
    setAccessibleName(QStringLiteral("%1: %2, %3").arg(classWord(need.mark), whole, need.status));
    setToolTip(need.status.isEmpty() ? whole : whole + u'\n' + need.status);
    setEnabled(true);
  }

  [[nodiscard]] int target() const { return need_.target; }
  void setCurrent(bool current) {
    current_ = current;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = themeOf(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    if (current_ || hasFocus() || need_.decides || (underMouse() && need_.target >= 0)) {
      painter.setPen(Qt::NoPen);
      painter.setBrush(current_ || hasFocus() ? theme.selection : need_.decides ? theme.blockedBack : theme.hover);
      painter.drawRoundedRect(QRectF(rect()).adjusted(-0.0, 0.5, 0, -0.5), 4, 4);
    }
    paintClassMark(painter, QRectF(2, (height() - 13) / 2.0, 13, 13), need_.mark, theme);
    const double right = paintStatus(painter, theme);
    paintName(painter, theme, right - 10);
  }

 private:
  // Paints from the right edge; gives the left edge of what it painted.
  double paintStatus(QPainter& painter, const Theme& theme) const {
    double right = width() - 2;
    if (need_.leads) {
      paintIcon(painter, QRectF(right - 12, (height() - 12) / 2.0, 12, 12), QStringLiteral("chevron_right"),
                theme.textFaint);
      right -= 15;
    }
    const bool plain = need_.state == Need::State::Plain;
    const QColor mark = need_.state == Need::State::Done ? theme.good : theme.blocked;
    if (!plain) {
      paintIcon(painter, QRectF(right - 13, (height() - 13) / 2.0, 13, 13),
                need_.state == Need::State::Done ? QStringLiteral("check") : QStringLiteral("blocked"), mark);
      right -= 17;
    }
    const QFont font = uiFont(11);
    // The name is worth more than the end of a long reason, which the tooltip has.
    const QFontMetrics metrics(font);
    const QString status = metrics.elidedText(need_.status, Qt::ElideRight, width() / 2);
    const int textWidth = metrics.horizontalAdvance(status);
    painter.setFont(font);
    painter.setPen(need_.state == Need::State::Bad ? theme.blocked : theme.textSoft);
    painter.drawText(QRectF(right - textWidth, 0, textWidth + 1, height()), Qt::AlignVCenter | Qt::AlignLeft, status);
    return right - textWidth;
  }

  void paintName(QPainter& painter, const Theme& theme, double right) const {
    const QFont font = monoFont(11, need_.decides ? QFont::Bold : QFont::Normal);
    const int room = static_cast<int>(right) - 24;
    const QString shown = QFontMetrics(font).elidedText(need_.name, Qt::ElideLeft, room);
    const int used = QFontMetrics(font).horizontalAdvance(shown);
    painter.setFont(font);
    painter.setPen(theme.text);
    painter.drawText(QRectF(24, 0, room, height()), Qt::AlignVCenter | Qt::AlignLeft, shown);
    const QFont noteFont = uiFont(11);
    painter.setFont(noteFont);
    painter.setPen(theme.textFaint);
    const int left = room - used - 8;
    if (left > 30) {
      painter.drawText(QRectF(24 + used + 8, 0, left, height()), Qt::AlignVCenter | Qt::AlignLeft,
                       QFontMetrics(noteFont).elidedText(need_.note, Qt::ElideRight, left));
    }
  }

  Need need_;
  bool current_ = false;
};

NeedsList::NeedsList(QWidget* parent) : QWidget(parent), layout_(new QVBoxLayout(this)) {
  layout_->setContentsMargins(0, 0, 0, 0);
  layout_->setSpacing(0);
}

void NeedsList::setNeeds(const QVector<Need>& needs) {
  rows_.clear();
  while (QLayoutItem* item = layout_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  for (int i = 0; i < qMin(static_cast<int>(needs.size()), kMaxRows); ++i) {
    auto* row = new NeedRow(needs[i], this);
    connect(row, &QAbstractButton::clicked, this, [this, row] {
      if (row->target() >= 0) Q_EMIT activated(row->target());
    });
    rows_.push_back(row);
    layout_->addWidget(row);
  }
  if (needs.size() > kMaxRows) {
    layout_->addWidget(makeLabel(tr("and %n more", nullptr, static_cast<int>(needs.size()) - kMaxRows), "faint", this));
  }
}

void NeedsList::setCurrent(int target) {
  for (NeedRow* row : rows_) row->setCurrent(target >= 0 && row->target() == target);
}

}  // namespace normlens::ui
