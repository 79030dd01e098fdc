#include "ui/window/learn/presenter.h"

#include <QApplication>
#include <QKeyEvent>
#include <QPainter>
#include <QScreen>
#include <algorithm>
#include <utility>

#include "ui/learn/figure.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"
#include "ui/window/learn/lesson_models.h"
#include "ui/window/learn/lesson_walk.h"

namespace normlens::ui {
namespace {

// For 1440 × 900.
constexpr int kStageMargin = 96, kStageTop = 54, kStageFoot = 104, kFigureTop = 200;
constexpr int kLesson = 24, kTitle = 60, kNames = 20;
constexpr double kLines = 1.55;
constexpr int kLeastText = 18, kSmallestText = 11;  // pixels; in a room, of a figure as it is at a desk
constexpr int kLaser = 22;
constexpr int kRest = 3000;  // ms without the mouse until the line below fades

// A red dot with a pale rim, that no click hits.
class LaserDot final : public QWidget {
 public:
  explicit LaserDot(QWidget* parent) : QWidget(parent) {
    setObjectName(QStringLiteral("laser"));
    setAttribute(Qt::WA_TransparentForMouseEvents);
    hide();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(QColor(255, 255, 255, 200), 2));
    painter.setBrush(QColor(230, 30, 40));
    painter.drawEllipse(QRectF(rect()).adjusted(2, 2, -2, -2));
  }
};

}  // namespace

Presenter::Presenter(LessonWalk* walk, LessonModels* models)
    : walk_(walk), models_(models), laser_(new LaserDot(this)) {
  setObjectName(QStringLiteral("presenter"));
  setWindowTitle(tr("NormLens lessons"));
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_QuitOnClose, false);  // the main window takes it along
  setMouseTracking(true);
  lesson_ = makeLabel({}, "presented", this);
  title_ = makeLabel({}, "presented", this);
  title_->setObjectName(QStringLiteral("presentedTitle"));
  rest_.setSingleShot(true);
  rest_.setInterval(kRest);
  connect(&rest_, &QTimer::timeout, this, [this] {
    chrome_ = false;
    update();
  });
  connect(walk_, &LessonWalk::moved, this, &Presenter::showStep);
  QCoreApplication::instance()->installEventFilter(this);  // moves over the figure are the figure's own
}

void Presenter::showOn(QScreen* screen) {
  setGeometry(screen->geometry());
  showFullScreen();
  showStep();
  setFocus();
  rest_.start();
}

double Presenter::factor() const { return std::min(width() / 1440.0, height() / 900.0) * enlarged_; }
int Presenter::scaled(int pixels) const { return static_cast<int>(pixels * factor()); }
QRectF Presenter::foot() const { return QRectF(0, height() - scaled(kStageFoot), width(), scaled(kStageFoot)); }

void Presenter::showStep() {
  const LessonStep& step = walk_->current();
  lesson_->setText(walk_->currentLesson().title);
  title_->setText(step.present);
  auto& figure = made_[step.figure];
  if (figure == nullptr) {
    figure = makeFigure(step.figure, this);
    if (figure == nullptr) return;
  }
  if (figure_ != nullptr && figure_ != figure) figure_->hide();
  figure_ = figure;
  figure_->show();
  figure_->showState(step.state, wantedMotion(*this));
  models_->serve(figure_, step.model);
  if (const LessonStep* next = walk_->next()) models_->ahead(next->model);
  arrange();
  setCurtain(curtain_);
}

void Presenter::arrange() {
  const int wide = width() - 2 * scaled(kStageMargin);
  const auto place = [this, wide](QLabel* label, int top, int pixels, int weight) {
    QFont font = label->font();
    font.setPixelSize(scaled(pixels));
    font.setWeight(static_cast<QFont::Weight>(weight));
    const int wanted = std::max(1, QFontMetrics(font).horizontalAdvance(label->text()));
    const int fitting = std::max(kLeastText, std::min(scaled(pixels), scaled(pixels) * wide / wanted));  // one line
    label->setStyleSheet(QStringLiteral("font-size: %1px; font-weight: %2;").arg(fitting).arg(weight));
    label->setGeometry(scaled(kStageMargin), scaled(top), wide, std::max(scaled(pixels), kLeastText) * 3 / 2);
  };
  place(lesson_, kStageTop, kLesson, 400);
  place(title_, kStageTop + kLesson + 16, kTitle, 700);
  laser_->resize(scaled(kLaser), scaled(kLaser));
  if (figure_ == nullptr) return;
  figure_->setPresented(std::max(kLines * factor(), static_cast<double>(kLeastText) / kSmallestText));
  figure_->setGeometry(scaled(kStageMargin), scaled(kFigureTop), width() - 2 * scaled(kStageMargin),
                       height() - scaled(kFigureTop) - scaled(kStageFoot) - scaled(16));
  laser_->raise();
}

void Presenter::setCurtain(Curtain curtain) {
  curtain_ = curtain;
  for (QWidget* part : std::initializer_list<QWidget*>{lesson_, title_, figure_}) {
    if (part != nullptr) part->setVisible(curtain_ == Curtain::None);
  }
  update();
}

void Presenter::paintEvent(QPaintEvent*) {
  const Theme theme = themeOf(this);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (curtain_ != Curtain::None) return painter.fillRect(rect(), curtain_ == Curtain::Black ? Qt::black : Qt::white);
  painter.fillRect(rect(), theme.panel);
  if (!chrome_) return;
  painter.setPen(theme.hairline);
  painter.drawLine(foot().topLeft(), foot().topRight());
  painter.setFont(uiFont(std::max(scaled(kNames), kLeastText)));
  painter.setPen(theme.textSoft);
  const double side = scaled(24), middle = foot().center().y();
  const QRectF names = foot().adjusted(scaled(kStageMargin) + side * 1.5, 0, -scaled(kStageMargin) - side * 1.5, 0);
  if (const LessonStep* previous = walk_->previous()) {
    paintIcon(painter, QRectF(scaled(kStageMargin), middle - side / 2, side, side), QStringLiteral("chevron_left"),
              theme.textSoft);
    painter.drawText(names, Qt::AlignLeft | Qt::AlignVCenter, previous->list);
  }
  if (const LessonStep* next = walk_->next()) {
    paintIcon(painter, QRectF(width() - scaled(kStageMargin) - side, middle - side / 2, side, side),
              QStringLiteral("chevron_right"), theme.text);
    painter.setPen(theme.text);
    painter.drawText(names, Qt::AlignRight | Qt::AlignVCenter, next->list);
  }
  const int steps = static_cast<int>(walk_->currentLesson().steps.size());
  const double gap = scaled(32), radius = scaled(6);
  for (int i = 0; i < steps; ++i) {
    const QPointF at(width() / 2.0 + (i - (steps - 1) / 2.0) * gap, middle);
    const bool here = i == walk_->step(), done = i < walk_->step();
    painter.setPen(here || done ? QPen(Qt::NoPen) : QPen(theme.textSoft, 1.5));
    painter.setBrush(here ? QBrush(theme.accent) : done ? QBrush(theme.textSoft) : QBrush(Qt::NoBrush));
    if (here) {
      painter.drawRoundedRect(QRectF(at - QPointF(radius * 2, radius), QSizeF(radius * 4, radius * 2)), radius, radius);
    } else {
      painter.drawEllipse(at, radius, radius);
    }
  }
}

void Presenter::keyPressEvent(QKeyEvent* event) {
  const int key = event->key();
  if (key == Qt::Key_B || key == Qt::Key_W) {
    const Curtain wanted = key == Qt::Key_B ? Curtain::Black : Curtain::White;
    return setCurtain(curtain_ == wanted ? Curtain::None : wanted);
  }
  if (key >= Qt::Key_1 && key <= Qt::Key_9) return walk_->goTo(walk_->lesson(), key - Qt::Key_1);
  switch (key) {
    case Qt::Key_L:
      return setLaser(laser_->isHidden());
    case Qt::Key_T:
      Q_EMIT themeWanted(!themeOf(this).dark);
      return;
    case Qt::Key_Right:
    case Qt::Key_Space:
    case Qt::Key_PageDown:
      return walk_->forward();
    case Qt::Key_Left:
    case Qt::Key_PageUp:
      return walk_->back();
    case Qt::Key_Plus:
    case Qt::Key_Minus:
      enlarged_ = std::clamp(enlarged_ * (key == Qt::Key_Plus ? 1.1 : 1 / 1.1), 0.6, 1.25);
      arrange();
      return update();
    case Qt::Key_Escape:
      close();
      return;
    default:
      return QWidget::keyPressEvent(event);
  }
}

void Presenter::setLaser(bool on) {
  laser_->setVisible(on);
  if (on) mouseMoved(mapFromGlobal(QCursor::pos()));
}

bool Presenter::eventFilter(QObject* watched, QEvent* event) {
  const auto* widget = event->type() == QEvent::MouseMove ? qobject_cast<QWidget*>(watched) : nullptr;
  if (widget != nullptr && widget->window() == this)
    mouseMoved(widget->mapTo(this, static_cast<QMouseEvent*>(event)->position().toPoint()));
  return QWidget::eventFilter(watched, event);
}

void Presenter::mouseMoved(const QPoint& at) {
  laser_->move(at - laser_->rect().center());
  rest_.start();
  // Sliders are drawn over the line below, while the mouse is near it.
  if (figure_ != nullptr) figure_->showControls(at.y() > foot().top() - foot().height());
  if (std::exchange(chrome_, true)) return;
  update();
}

void Presenter::mousePressEvent(QMouseEvent* event) {
  if (!foot().contains(event->position())) return;
  if (event->position().x() < width() / 3.0) return walk_->back();
  if (event->position().x() > width() * 2 / 3.0) walk_->forward();
}

void Presenter::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

void Presenter::closeEvent(QCloseEvent* event) {
  QWidget::closeEvent(event);
  Q_EMIT closed();
}

}  // namespace normlens::ui
