#include "ui/widgets/delegates/norm_delegate.h"

#include <QPainter>
#include <QScrollBar>
#include <QTreeView>

#include "ui/models/norm_model.h"
#include "ui/session/words/format.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/mark_color.h"

namespace normlens::ui {

namespace {

constexpr int kRow = 24, kTextLeft = 46, kIconLeft = 26, kRight = 12, kReasonBottom = 6;

Verdict verdictOf(const QModelIndex& index) { return static_cast<Verdict>(index.data(NormModel::VerdictRole).toInt()); }

// "transformer.h.3." quiet and "ln_2" strong. The quiet part gives way first, from its start; where the strong one is
// long ("LayerNormalization") it leaves half of the room to what distinguishes it from the others.
void paintName(QPainter& painter, const QRect& area, const QString& name, const Theme& theme, bool strong) {
  const qsizetype end = 1 + qMax(name.lastIndexOf(u'.'), name.lastIndexOf(u'/'));
  const QFont quietFont = uiFont(12), strongFont = uiFont(12, strong ? QFont::DemiBold : QFont::Medium);
  const QFontMetrics quiet(quietFont), metrics(strongFont);
  const int room = qMax(area.width() / 2, area.width() - quiet.horizontalAdvance(name.left(end)));
  const QString last = metrics.elidedText(name.mid(end), Qt::ElideMiddle, room);
  const QString lead =
      quiet.elidedText(name.left(end), Qt::ElideLeft, qMax(0, area.width() - metrics.horizontalAdvance(last)));
  painter.setFont(quietFont);
  painter.setPen(theme.textSoft);
  painter.drawText(area, Qt::AlignVCenter | Qt::AlignLeft, lead);
  painter.setFont(strongFont);
  painter.setPen(theme.text);
  painter.drawText(area.adjusted(quiet.horizontalAdvance(lead), 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, last);
}

}  // namespace

NormDelegate::NormDelegate(QTreeView* view) : QStyledItemDelegate(view), view_(view) {}

QRect NormDelegate::wholeRow(const QRect& item) const {
  return {0, item.top(), view_->viewport()->width(), item.height()};
}

void NormDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  if (index.data(NormModel::IsGroupRole).toBool()) {
    paintGroup(*painter, wholeRow(option.rect), index);
  } else {
    paintNorm(*painter, option, index);
  }
  painter->restore();
}

void NormDelegate::paintGroup(QPainter& painter, const QRect& row, const QModelIndex& index) const {
  const Theme theme = themeOf(view_);
  const Verdict verdict = verdictOf(index);
  const bool open = view_->isExpanded(index);
  const double middle = row.center().y() + 0.5;
  paintIcon(painter, QRectF(row.left() + 10, middle - 6, 12, 12),
            open ? QStringLiteral("chevron_down") : QStringLiteral("chevron_right"), theme.textSoft);
  const int count = index.data(NormModel::CountRole).toInt();
  paintIcon(painter, QRectF(row.left() + 28, middle - 8, 16, 16),
            verdictIcon(verdict, index.data(NormModel::EarlyRole).toBool()),
            count > 0 ? verdictColor(verdict, theme) : theme.textSoft);
  const QFont titleFont = uiFont(13, QFont::DemiBold), countFont = uiFont(12, QFont::Medium);
  const QString title = index.data().toString(), counted = QString::number(count);
  painter.setFont(titleFont);
  painter.setPen(theme.text);
  painter.drawText(row.adjusted(52, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, title);
  int left = 52 + QFontMetrics(titleFont).horizontalAdvance(title) + 8;
  painter.setFont(countFont);
  painter.setPen(theme.textSoft);
  painter.drawText(row.adjusted(left, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, counted);
  left += QFontMetrics(countFont).horizontalAdvance(counted) + 10;
  const QRect rest = row.adjusted(left, 0, -kRight - 2, 0);
  painter.drawText(
      rest, Qt::AlignVCenter | Qt::AlignRight,
      QFontMetrics(countFont).elidedText(index.data(NormModel::PlanWordRole).toString(), Qt::ElideRight, rest.width()));
}

void NormDelegate::paintNorm(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Theme theme = themeOf(view_);
  const QRect row = wholeRow(option.rect);
  const bool current = index == view_->currentIndex();
  if (current || (option.state & QStyle::State_MouseOver)) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(current ? theme.selection : theme.hover);
    painter.drawRoundedRect(QRectF(row).adjusted(8, 0.5, -6, -0.5), 4, 4);
  }
  if (current) {
    painter.setBrush(theme.accentText);
    painter.drawRoundedRect(QRectF(row.left() + 6, row.top() + 4, 3, row.height() - 8), 1.5, 1.5);
  }
  const QRect line(row.left(), row.top(), row.width(), grown(kRow));
  const Verdict verdict = verdictOf(index);
  paintIcon(painter, QRectF(line.left() + kIconLeft + 2, line.center().y() - 6.5, 14, 14),
            verdictIcon(verdict, index.data(NormModel::EarlyRole).toBool()), verdictColor(verdict, theme));
  const auto state = static_cast<PlanState>(index.data(NormModel::PlanRole).toInt());
  int right = kRight;
  if (state != PlanState::Unknown) {
    paintIcon(painter, QRectF(line.right() - kRight - 13, line.center().y() - 6.5, 14, 14), planIcon(state),
              planColor(state, theme));
    right += 20;
  }
  const QFont wordFont = uiFont(11);
  const int role = state == PlanState::Unknown ? NormModel::WidthRole : NormModel::PlanWordRole;
  const int wordRoom = (line.width() - grown(kTextLeft) - right) / 2;  // the rest is the name's
  const QString word = QFontMetrics(wordFont).elidedText(index.data(role).toString(), Qt::ElideRight, wordRoom);
  painter.setFont(wordFont);
  painter.setPen(theme.textSoft);
  painter.drawText(line.adjusted(0, 0, -right, 0), Qt::AlignVCenter | Qt::AlignRight, word);
  right += QFontMetrics(wordFont).horizontalAdvance(word) + 8;
  paintName(painter, line.adjusted(kTextLeft + 4, 0, -right, 0), index.data().toString(), theme, current);
  if (!current) return;
  painter.setFont(uiFont(11));
  painter.setPen(theme.text);
  painter.drawText(QRect(kTextLeft + 4, row.top() + grown(kRow) - 1, reasonWidth(), row.height() - grown(kRow)),
                   Qt::TextWordWrap | Qt::AlignTop, unbroken(index.data(NormModel::ReasonRole).toString()));
}

// Leaves room for the scroll bar, so that its coming and going does not change the height.
int NormDelegate::reasonWidth() const {
  return qMax(60, view_->width() - view_->verticalScrollBar()->sizeHint().width() - kTextLeft - 4 - kRight / 2);
}

int NormDelegate::reasonHeight(const QString& reason) const {
  if (reason.isEmpty()) return 0;
  const QRect room(0, 0, reasonWidth(), 10000);
  return QFontMetrics(uiFont(11)).boundingRect(room, Qt::TextWordWrap, unbroken(reason)).height() + kReasonBottom;
}

QSize NormDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const {
  if (index.data(NormModel::IsGroupRole).toBool()) return {100, grown(27)};
  const bool current = index == view_->currentIndex();
  return {100, grown(kRow) + (current ? reasonHeight(index.data(NormModel::ReasonRole).toString()) : 0)};
}

void NormDelegate::currentChanged(const QModelIndex& now, const QModelIndex& before) {
  if (before.isValid()) Q_EMIT sizeHintChanged(before);
  if (now.isValid()) Q_EMIT sizeHintChanged(now);
}

}  // namespace normlens::ui
