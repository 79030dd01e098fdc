#include "ui/widgets/segmented.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/theme/icons.h"
#include "ui/theme/spoken_role.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

constexpr int kHeight = 26, kSide = 12, kSnugSide = 9, kArrow = 11, kIcon = 14, kGap = 6;

QFont strongFont() { return uiFont(12, QFont::DemiBold); }

}  // namespace

Segmented::Segmented(const QVector<Segment>& segments, QWidget* parent) : QWidget(parent), segments_(segments) {
  setSpokenRole(this, QAccessible::ComboBox);
  setFocusPolicy(Qt::TabFocus);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

int Segmented::wanted(int index) const {
  return QFontMetrics(strongFont()).horizontalAdvance(segments_[index].text) +
         2 * (snug_ && !folded_ ? kSnugSide : kSide);
}

QSize Segmented::sizeHint() const {
  int widest = 0, all = 0;
  for (int i = 0; i < segments_.size(); ++i) {
    widest = qMax(widest, wanted(i));
    all += wanted(i);
  }
  if (folded_ && !icon_.isEmpty()) return {2 * kSide + grown(kIcon) + kGap + grown(kArrow), grown(kHeight)};
  if (folded_) return {widest + kGap + grown(kArrow), grown(kHeight)};
  return {snug_ ? all : static_cast<int>(segments_.size()) * widest, grown(kHeight)};
}

void Segmented::setSnug(bool snug) {
  snug_ = snug;
  updateGeometry();
  update();
}

void Segmented::setSegments(const QVector<Segment>& segments) {
  segments_ = segments;
  setAccessibleDescription(segments_.value(current_).text);
  updateGeometry();
  update();
}

void Segmented::setFolded(bool folded) {
  folded_ = folded;
  updateGeometry();
  update();
}

void Segmented::setBare(const QString& icon) {
  icon_ = icon;
  updateGeometry();
  update();
}

void Segmented::openMenu() {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setToolTipsVisible(true);
  for (int i = 0; i < segments_.size(); ++i) {
    QAction* action = menu->addAction(segments_[i].text);
    action->setToolTip(segments_[i].tip);
    action->setEnabled(segments_[i].offered);
    action->setCheckable(true);
    action->setChecked(i == current_);
    connect(action, &QAction::triggered, this, [this, i] { choose(i); });
  }
  menu->popup(mapToGlobal(rect().bottomLeft()));
}

void Segmented::setCurrent(int index) {
  current_ = index;
  setAccessibleDescription(segments_.value(index).text);
  update();
}

void Segmented::choose(int index) {
  if (index < 0 || index >= segments_.size() || index == current_ || !segments_[index].offered) return;
  setCurrent(index);
  Q_EMIT chosen(index);
}

QRectF Segmented::cell(int index) const {
  if (snug_) {
    int left = 0;
    for (int i = 0; i < index; ++i) left += wanted(i);
    return QRectF(left, 0, wanted(index), height());
  }
  const double each = width() / static_cast<double>(segments_.size());
  return {index * each, 0, each, static_cast<double>(height())};
}

int Segmented::cellAt(const QPoint& position) const {
  if (folded_) return rect().contains(position) ? current_ : -1;
  for (int i = 0; i < segments_.size(); ++i) {
    if (cell(i).contains(position)) return i;
  }
  return -1;
}

void Segmented::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(hasFocus() ? theme.accent : theme.hairline);
  painter.setBrush(theme.chrome);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  if (folded_) return paintFolded(painter);
  for (int i = 0; i < segments_.size(); ++i) {
    const QRectF area = cell(i);
    const bool on = i == current_;
    if (on) {
      painter.setPen(theme.control);
      painter.setBrush(theme.dark ? theme.hairline : theme.panel);
      painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    }
    painter.setFont(on ? strongFont() : uiFont(12));
    painter.setPen(on ? theme.text : segments_[i].offered ? theme.textSoft : theme.textFaint);
    painter.drawText(area, Qt::AlignCenter, segments_[i].text);
  }
}

void Segmented::paintFolded(QPainter& painter) const {
  const Theme theme = themeOf(this);
  const int arrow = grown(kArrow);
  painter.setFont(strongFont());
  painter.setPen(theme.text);
  if (icon_.isEmpty()) {
    painter.drawText(rect().adjusted(kSide, 0, -kSide - arrow, 0), Qt::AlignVCenter | Qt::AlignLeft,
                     segments_.value(current_).text);
  } else {
    const int icon = grown(kIcon);
    paintIcon(painter, QRectF(kSide, (height() - icon) / 2.0, icon, icon), icon_, theme.text);
  }
  paintIcon(painter, QRectF(width() - kSide - arrow, (height() - arrow) / 2.0, arrow, arrow),
            QStringLiteral("chevron_down"), theme.textSoft);
}

void Segmented::mousePressEvent(QMouseEvent* event) {
  folded_ ? openMenu() : choose(cellAt(event->position().toPoint()));
}

void Segmented::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Left) return choose(current_ - 1);
  if (event->key() == Qt::Key_Right) return choose(current_ + 1);
  if (folded_ && (event->key() == Qt::Key_Space || event->key() == Qt::Key_Return)) return openMenu();
  QWidget::keyPressEvent(event);
}

bool Segmented::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int index = cellAt(help->pos());
    if (index >= 0) QToolTip::showText(help->globalPos(), segments_[index].tip, this);
    return true;
  }
  return QWidget::event(event);
}

}  // namespace normlens::ui
