#include "ui/window/learn/lesson_list.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/learn/lesson_walk.h"

namespace normlens::ui {
namespace {

constexpr int kWide = 240, kNarrow = 56;
constexpr int kTop = 44, kLessonHeight = 36, kStepHeight = 27, kFoot = 56;

}  // namespace

LessonList::LessonList(LessonWalk* walk, QWidget* parent) : QWidget(parent), walk_(walk) {
  setObjectName(QStringLiteral("lessonList"));
  setAccessibleName(tr("Lessons"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  followText(this, [this] { setNarrow(narrow_); });
  connect(walk_, &LessonWalk::moved, this, QOverload<>::of(&QWidget::update));
  connect(walk_, &LessonWalk::passedChanged, this, QOverload<>::of(&QWidget::update));
}

void LessonList::setNarrow(bool narrow) {
  narrow_ = narrow;
  setFixedWidth(grown(narrow ? kNarrow : kWide));
}

std::vector<LessonList::Row> LessonList::rows() const {
  std::vector<Row> made;
  double y = grown(narrow_ ? 12 : kTop);
  const auto add = [&](int lesson, int step, int height) {
    made.push_back({lesson, step, QRectF(0, y, width(), grown(height))});
    y += grown(height);
  };
  for (int i = 0; i < static_cast<int>(walk_->lessons().size()); ++i) {
    add(i, -1, kLessonHeight);
    if (narrow_ || i != walk_->lesson()) continue;
    for (int s = 0; s < static_cast<int>(walk_->currentLesson().steps.size()); ++s) add(i, s, kStepHeight);
    y += grown(8);
  }
  return made;
}

const LessonList::Row* LessonList::rowAt(const std::vector<Row>& rows, const QPointF& at) {
  const auto found = std::ranges::find_if(rows, [&](const Row& row) { return row.area.contains(at); });
  return found == rows.end() ? nullptr : &*found;
}

void LessonList::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(rect(), theme.panel);
  if (!narrow_) {
    painter.setFont(uiFont(12, QFont::DemiBold));
    painter.setPen(theme.textSoft);
    painter.drawText(QRectF(grown(20), grown(10), width(), grown(28)), Qt::AlignLeft | Qt::AlignVCenter, tr("Lessons"));
  }
  const auto all = rows();
  for (size_t i = 0; i < all.size(); ++i) {
    const bool last = i + 1 == all.size() || all[i + 1].step < 0;
    if (all[i].step < 0) {
      paintLesson(painter, all[i], theme);
    } else {
      paintStep(painter, all[i], last, theme);
    }
  }
  if (!narrow_) paintPassed(painter, theme);
  painter.setPen(theme.hairline);
  painter.drawLine(QPointF(width() - 0.5, 0), QPointF(width() - 0.5, height()));
}

void LessonList::paintLesson(QPainter& painter, const Row& row, const Theme& theme) const {
  const bool open = row.lesson == walk_->lesson();
  const QRectF card = row.area.adjusted(8, 2, -8, -2);
  if (open) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.selection);
    painter.drawRoundedRect(card, 6, 6);
    if (hasFocus()) {
      painter.setPen(QPen(theme.accent, 1.5));
      painter.setBrush(Qt::NoBrush);
      painter.drawRoundedRect(card, 6, 6);
    }
  }
  const double disc = grown(20);
  const QRectF number(narrow_ ? row.area.center().x() - disc / 2 : row.area.left() + grown(20),
                      row.area.center().y() - disc / 2, disc, disc);
  const bool passed = walk_->isPassed(row.lesson);
  painter.setPen(passed || open ? QPen(Qt::NoPen) : QPen(theme.control, 1));
  painter.setBrush(passed ? QBrush(theme.goodBack) : open ? QBrush(theme.accent) : QBrush(Qt::NoBrush));
  painter.drawEllipse(number);
  if (passed) {
    paintIcon(painter, number.adjusted(4, 4, -4, -4), QStringLiteral("check"), theme.good);
  } else {
    painter.setFont(uiFont(11, QFont::DemiBold));
    painter.setPen(open ? theme.onAccent : theme.textSoft);
    painter.drawText(number, Qt::AlignCenter, QString::number(row.lesson + 1));
  }
  if (narrow_) return;
  painter.setFont(uiFont(13, open ? QFont::DemiBold : QFont::Normal));
  painter.setPen(theme.text);
  const QRectF words(number.right() + 10, row.area.top(), card.right() - number.right() - 14, row.area.height());
  const QString& title = walk_->lessons()[static_cast<size_t>(row.lesson)].title;
  painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(title, Qt::ElideRight, static_cast<int>(words.width())));
}

void LessonList::paintStep(QPainter& painter, const Row& row, bool last, const Theme& theme) const {
  const QPointF dot(grown(30), row.area.center().y());
  const int at = walk_->step();
  painter.setPen(QPen(theme.hairline, 1.5));
  if (row.step > 0) painter.drawLine(QPointF(dot.x(), row.area.top()), dot - QPointF(0, 6));
  if (!last) painter.drawLine(dot + QPointF(0, 6), QPointF(dot.x(), row.area.bottom()));
  const double radius = row.step == at ? 5 : 4;
  painter.setPen(row.step > at ? QPen(theme.control, 1.2) : QPen(Qt::NoPen));
  painter.setBrush(row.step < at ? QBrush(theme.good) : row.step == at ? QBrush(theme.accent) : QBrush(Qt::NoBrush));
  painter.drawEllipse(dot, radius, radius);
  painter.setFont(uiFont(12, row.step == at ? QFont::DemiBold : QFont::Normal));
  painter.setPen(row.step == at ? theme.text : theme.textSoft);
  const QRectF words(grown(50), row.area.top(), width() - grown(58), row.area.height());
  painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(walk_->currentLesson().steps[static_cast<size_t>(row.step)].list,
                                                    Qt::ElideRight, static_cast<int>(words.width())));
}

void LessonList::paintPassed(QPainter& painter, const Theme& theme) const {
  const QRectF foot(0, height() - grown(kFoot), width(), grown(kFoot));
  painter.setPen(theme.hairline);
  painter.drawLine(foot.topLeft(), foot.topRight());
  const int passed = walk_->passedLessons(), all = static_cast<int>(walk_->lessons().size());
  const QRectF words = foot.adjusted(grown(20), grown(8), -grown(20), -grown(24));
  painter.setFont(uiFont(12));
  painter.setPen(theme.textSoft);
  painter.drawText(words, Qt::AlignLeft | Qt::AlignVCenter, tr("Exercises passed"));
  painter.setFont(uiFont(12, QFont::DemiBold));
  painter.setPen(theme.text);
  painter.drawText(words, Qt::AlignRight | Qt::AlignVCenter, tr("%1 of %2").arg(passed).arg(all));
  const double step = words.width() / all;
  for (int i = 0; i < all; ++i) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(walk_->isPassed(i) ? theme.good : theme.hairline);
    painter.drawRoundedRect(QRectF(words.left() + i * step, foot.bottom() - grown(18), step - 4, 4), 2, 2);
  }
}

void LessonList::mousePressEvent(QMouseEvent* event) {
  const auto all = rows();
  if (const Row* row = rowAt(all, event->position())) walk_->goTo(row->lesson, std::max(row->step, 0));
}

void LessonList::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Up) return walk_->goTo(walk_->lesson() - 1, 0);
  if (event->key() == Qt::Key_Down) return walk_->goTo(walk_->lesson() + 1, 0);
  QWidget::keyPressEvent(event);
}

bool LessonList::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto all = rows();
  const Row* row = rowAt(all, help->pos());
  if (row == nullptr) return QWidget::event(event);
  const Lesson& lesson = walk_->lessons()[static_cast<size_t>(row->lesson)];
  QToolTip::showText(help->globalPos(),
                     row->step < 0 ? lesson.title : lesson.steps[static_cast<size_t>(row->step)].title, this);
  return true;
}

}  // namespace normlens::ui
