#include "ui/window/learn/lessons_page.h"

#include <QBoxLayout>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QLocale>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStyle>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextCursor>
#include <QToolTip>
#include <QWidget>
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "ui/learn/figure.h"
#include "ui/learn/formula_view.h"
#include "ui/learn/lesson.h"
#include "ui/session/session.h"
#include "ui/theme/icons.h"
#include "ui/theme/spoken_role.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/push_button.h"
#include "ui/window/learn/figure_export.h"
#include "ui/window/learn/learn_bar.h"
#include "ui/window/learn/lesson_models.h"
#include "ui/window/learn/lesson_walk.h"
#include "ui/window/learn/presenter.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr int kWide = 240, kNarrow = 56;
constexpr int kTop = 44, kLessonHeight = 36, kStepHeight = 27, kFoot = 56;

constexpr int kTextWidth = 344, kMargin = 24, kFootHeight = 56;
constexpr int kNarrowList = 1200, kTextAbove = 960;  // widths below which the page gives way
constexpr int kScrolls = 700;                        // a height below which the text may have to be scrolled

// Body 16 on 24; Markdown comes without distances.
void setOut(QTextDocument& document) {
  document.setDefaultFont(uiFont(16));
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    QTextCursor cursor(block);
    QTextBlockFormat format = block.blockFormat();
    format.setBottomMargin(grown(12));
    format.setLineHeight(grown(24), QTextBlockFormat::FixedHeight);
    cursor.setBlockFormat(format);
  }
}

}  // namespace

// 'Try it': a task that is solved with the figure, or by one typed number, and what came of it. It never shows the
// answer.
class TryCard final : public QFrame {
  Q_OBJECT

 public:
  using Number = std::function<std::optional<double>(const QString& name)>;

  // number: of the figure that is shown
  TryCard(Number number, QWidget* parent) : QFrame(parent), number_(std::move(number)) {
    setObjectName(QStringLiteral("tryCard"));
    setProperty("kind", "tryCard");
    auto* column = makeColumn(this, 8, {14, 12, 14, 12});
    column->addWidget(makeLabel(tr("Try it"), "section", this));
    task_ = makeWords("fact", this);
    column->addWidget(task_);
    auto* row = makeRow(nullptr, 8);
    live_ = describe(makeWords("soft", this), "tryLive");
    answer_ = describe(new QLineEdit(this), "tryAnswer", {}, tr("Your answer"));
    answer_->setPlaceholderText(tr("Your answer"));
    check_ = describe(new PushButton(tr("Check"), PushButton::Look::Outlined, this), "tryCheck");
    row->addWidget(live_, 1);
    row->addWidget(answer_, 1);
    row->addWidget(check_);
    column->addLayout(row);
    told_ = describe(makeWords("soft", this), "tryTold");
    column->addWidget(told_);
    connect(check_, &PushButton::clicked, this, &TryCard::check);
    connect(answer_, &QLineEdit::returnPressed, this, &TryCard::check);
  }

  void showExercise(const std::optional<Exercise>& exercise, bool passed) {
    exercise_ = exercise;
    setVisible(exercise.has_value());
    if (!exercise) return;
    task_->setText(exercise->task);
    answer_->clear();
    answer_->setVisible(exercise->isTyped());
    live_->setVisible(!exercise->isTyped());
    showOutcome(passed ? exercise->passed : QString(), "passed");
    refresh();
  }
  // A number has changed.
  void refresh() {
    if (!exercise_ || exercise_->isTyped()) return;
    const auto number = number_(exercise_->number);
    const QString& live = exercise_->live;  // some explain where to look, without a number
    const QString words = live.contains(QStringLiteral("%1")) ? live.arg(formatNumber(number.value_or(0), 3)) : live;
    live_->setText(number ? words : QString());
  }
  void check() {
    if (!exercise_) return;
    const auto number = number_(exercise_->number);
    if (!number) return showOutcome(tr("The figure has nothing to measure yet."), "error");
    bool met = exercise_->isMetBy(*number);
    if (exercise_->isTyped()) {
      bool isNumber = false;
      const double typed = QLocale().toDouble(answer_->text().trimmed(), &isNumber);
      met = isNumber && std::abs(typed - *number) < 1e-9 * std::max(1.0, std::abs(*number));
    }
    showOutcome(met ? exercise_->passed : exercise_->failed, met ? "passed" : "error");
    if (met) Q_EMIT solved();
  }

 Q_SIGNALS:
  void solved();

 private:
  void showOutcome(const QString& words, const char* kind) {
    setKind(told_, kind);
    told_->setText(words);
    told_->setVisible(!words.isEmpty());
  }

  Number number_;
  std::optional<Exercise> exercise_;
  QLabel *task_, *live_, *told_;
  QLineEdit* answer_;
  PushButton* check_;
};

// The lessons at the left: a number, or a check once the exercises are passed; the open one with its steps as a line of
// dots. A click jumps; nothing is locked. Where there is little room only the numbers are shown.
class LessonList final : public QWidget {
 public:
  // walk: not owned
  LessonList(LessonWalk* walk, QWidget* parent) : QWidget(parent), walk_(walk) {
    setSpokenRole(this, QAccessible::Pane);
    describe(this, "lessonList", {}, tr("Lessons"));
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    followText(this, [this] { setNarrow(narrow_); });
    connect(walk_, &LessonWalk::moved, this, QOverload<>::of(&QWidget::update));
    connect(walk_, &LessonWalk::passedChanged, this, QOverload<>::of(&QWidget::update));
  }

  void setNarrow(bool narrow) {
    narrow_ = narrow;
    setFixedWidth(grown(narrow ? kNarrow : kWide));
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = themeOf(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(rect(), theme.panel);
    if (!narrow_) {
      painter.setFont(uiFont(12, QFont::DemiBold));
      painter.setPen(theme.textSoft);
      painter.drawText(QRectF(grown(20), grown(10), width(), grown(28)), Qt::AlignLeft | Qt::AlignVCenter,
                       tr("Lessons"));
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
  void mousePressEvent(QMouseEvent* event) override {
    const auto all = rows();
    if (const Row* row = rowAt(all, event->position())) walk_->goTo(row->lesson, std::max(row->step, 0));
  }
  void keyPressEvent(QKeyEvent* event) override {
    if (event->key() == Qt::Key_Up) return walk_->goTo(walk_->lesson() - 1, 0);
    if (event->key() == Qt::Key_Down) return walk_->goTo(walk_->lesson() + 1, 0);
    QWidget::keyPressEvent(event);
  }
  bool event(QEvent* event) override {
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

 private:
  struct Row {
    int lesson;
    int step;  // -1: the lesson itself
    QRectF area;
  };

  [[nodiscard]] std::vector<Row> rows() const {
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
  [[nodiscard]] static const Row* rowAt(const std::vector<Row>& rows, const QPointF& at);
  void paintLesson(QPainter& painter, const Row& row, const Theme& theme) const {
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
  void paintStep(QPainter& painter, const Row& row, bool last, const Theme& theme) const {
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
  void paintPassed(QPainter& painter, const Theme& theme) const {
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

  LessonWalk* walk_;
  bool narrow_ = false;
};

const LessonList::Row* LessonList::rowAt(const std::vector<Row>& rows, const QPointF& at) {
  const auto found = std::ranges::find_if(rows, [&](const Row& row) { return row.area.contains(at); });
  return found == rows.end() ? nullptr : &*found;
}

LessonsPage::LessonsPage(Session* session, bool remembers, QWidget* parent)
    : QWidget(parent),
      session_(session),
      walk_(new LessonWalk(bundledLessons(), remembers, this)),
      models_(new LessonModels(session, this)),
      list_(new LessonList(walk_, this)) {
  setSpokenRole(this, QAccessible::Pane);
  describe(this, "lessonsPage", {}, tr("Lessons"));
  setFocusPolicy(Qt::StrongFocus);
  auto* column = makeColumn(this);
  column->addWidget(makeTopBar());
  auto* body = makeRow(nullptr);
  body->addWidget(list_);
  rest_ = new QBoxLayout(QBoxLayout::LeftToRight);
  rest_->setSpacing(0);
  rest_->addWidget(makeText());
  auto* area = describe(makeScrollArea(this, tr("Figure of the lesson")),
                        "figureArea");  // where the page is smaller than its figure
  auto* ground = describe(new QWidget(area), "figureGround");
  figures_ = describe(new QStackedWidget(ground), "figures");
  makeColumn(ground, 0, {16, 16, 16, 16})->addWidget(figures_);
  area->setWidget(ground);
  rest_->addWidget(area, 1);
  body->addLayout(rest_, 1);
  column->addLayout(body, 1);
  makeExport();
  column->addWidget(export_);
  connect(walk_, &LessonWalk::moved, this, &LessonsPage::showStep);
  connect(this, &LessonsPage::closed, models_, &LessonModels::rest);
  connect(session_, &Session::modelChanged, this, &LessonsPage::showModelName);
  showModelName();
  showStep();
}

LessonsPage::~LessonsPage() = default;

QWidget* LessonsPage::makeTopBar() {
  bar_ = new LearnBar(LearnPageKind::Lessons, this);
  auto* present =
      new IconButton({}, tr("Present"), tr("The same lesson for an audience: large type and one figure (F5)."), bar_);
  present->setObjectName(QStringLiteral("present"));
  present->setLook(IconButton::Look::Outlined);
  auto* save = describe(
      new IconButton(QStringLiteral("export"), {}, tr("Save the figure as a picture, or its animation."), bar_),
      "figureExport");
  save->setLook(IconButton::Look::Outlined);
  auto* menu = new QMenu(save);
  save->setMenu(menu);
  save->setPopupMode(QToolButton::InstantPopup);
  connect(menu, &QMenu::aboutToShow, this, [this, menu] {
    menu->clear();
    export_->fill(menu);
  });
  bar_->addAtEnd(save);
  bar_->addAtEnd(present);
  connect(bar_, &LearnBar::closed, this, &LessonsPage::closed);
  connect(bar_, &LearnBar::pageWanted, this, &LessonsPage::pageWanted);
  connect(present, &IconButton::clicked, this, &LessonsPage::present);
  return bar_;
}

void LessonsPage::makeExport() {
  const auto name = [this] { return walk_->currentLesson().name + u'_' + walk_->current().name; };
  export_ = new FigureExport([this] { return figure(); }, name, this);
  connect(export_, &FigureExport::written, this, &LessonsPage::written);
  connect(export_, &FigureExport::failed, this,
          [this](const QString& message) { Q_EMIT session_->problem(message, {}); });
  figures_->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(figures_, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    export_->fill(menu);
    menu->popup(figures_->mapToGlobal(at));
  });
}

QWidget* LessonsPage::makeText() {
  textColumn_ = describe(new QFrame(this), "lessonColumn");
  auto* column = makeColumn(textColumn_);
  auto* area = makeScrollArea(textColumn_, tr("Text of the lesson"), Qt::ScrollBarAlwaysOff);
  auto* inside = new QWidget(area);
  auto* words = makeColumn(inside, 12, {kMargin, 20, kMargin, 16});
  eyebrow_ = makeLabel({}, "soft", inside);
  title_ = describe(makeWords("hero", inside), "lessonTitle");
  which_ = describe(makeWords("soft", inside), "lessonModel");
  text_ = describe(new QTextBrowser(inside), "lessonText", {}, tr("Lesson"));
  text_->setFrameShape(QFrame::NoFrame);
  text_->setOpenLinks(false);
  text_->document()->setDocumentMargin(0);
  text_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  text_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  text_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  formulas_ = new FormulaView(inside);
  try_ = new TryCard([this](const QString& name) { return figure() ? figure()->number(name) : std::nullopt; }, inside);
  for (QWidget* part : std::initializer_list<QWidget*>{eyebrow_, title_, which_, text_, formulas_})
    words->addWidget(part);
  words->addStretch();
  words->addWidget(try_);
  area->setWidget(inside);
  column->addWidget(area, 1);
  QFrame* foot = makeBar(QStringLiteral("lessonsFoot"), kFootHeight, textColumn_);
  previous_ = describe(new PushButton(tr("Back"), PushButton::Look::Outlined, foot), "lessonPrevious");
  next_ = describe(new PushButton({}, PushButton::Look::Filled, foot), "lessonNext");
  layoutOf(foot)->setContentsMargins(kMargin, 0, kMargin, 0);
  layoutOf(foot)->addWidget(previous_);
  layoutOf(foot)->addStretch();
  layoutOf(foot)->addWidget(next_);
  column->addWidget(foot);
  connect(previous_, &PushButton::clicked, walk_, &LessonWalk::back);
  connect(next_, &PushButton::clicked, walk_, &LessonWalk::forward);
  connect(try_, &TryCard::solved, walk_, &LessonWalk::pass);
  return textColumn_;
}

// Handles the keys that the part with the focus leaves: a slider takes the arrows. Esc stops an export that runs.
void LessonsPage::keyPressEvent(QKeyEvent* event) {
  if (export_->writing()) {  // and the figure is not to be touched
    if (event->key() == Qt::Key_Escape) export_->stop();
    return;
  }
  switch (event->key()) {
    case Qt::Key_Escape:
      Q_EMIT closed();
      return;
    case Qt::Key_F5:
      return present();
    case Qt::Key_PageDown:
      return walk_->goTo(walk_->lesson() + 1, 0);
    case Qt::Key_PageUp:
      return walk_->goTo(walk_->lesson() - 1, 0);
    case Qt::Key_Right:
      return walk_->forward();
    case Qt::Key_Left:
      return walk_->back();
    case Qt::Key_Space:
      if (figure() != nullptr && figure()->togglePlay()) return;
      return QWidget::keyPressEvent(event);
    case Qt::Key_R:
      return showFigure(walk_->current());
    case Qt::Key_F:
      textColumn_->setHidden(!textColumn_->isHidden());
      return list_->setHidden(textColumn_->isHidden());
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return try_->check();
    default:
      return QWidget::keyPressEvent(event);
  }
}

void LessonsPage::showModelName() {
  bar_->setModelName(session_->title());
  showWhichModel();
}

void LessonsPage::showWhichModel() {
  const QString& own = walk_->current().model;
  const bool asks = figure() != nullptr && figure()->wantsModel();
  which_->setText(!own.isEmpty()       ? tr("On this lesson's small model, %1.pt").arg(own)
                  : models_->usesToy() ? tr("No model is open: using the demo gpt2.pt")
                                       : QString());
  which_->setVisible(asks && !which_->text().isEmpty());
}

void LessonsPage::open(const QString& link) {
  const int norm = session_->selection()->current().norm;
  const bool isNew = norm != chosen_;
  chosen_ = norm;
  if (!link.isEmpty()) {
    walk_->goTo(link);
  } else if (isNew && figure() != nullptr) {
    models_->serve(figure(), walk_->current().model);
  }
  setFocus();
}

Figure* LessonsPage::figure() const { return qobject_cast<Figure*>(figures_->currentWidget()); }

void LessonsPage::showStep() {
  export_->stop();
  const LessonStep& step = walk_->current();
  eyebrow_->setText(tr("Lesson %1 · step %2 of %3")
                        .arg(walk_->lesson() + 1)
                        .arg(walk_->step() + 1)
                        .arg(walk_->currentLesson().steps.size()));
  title_->setText(step.title);
  text_->setMarkdown(step.text);
  formulas_->setFormulas(step.formulas);
  showFigure(step);
  showWhichModel();
  try_->showExercise(step.exercise, walk_->isPassed(walk_->lesson(), walk_->step()));
  const LessonStep* next = walk_->next();
  next_->setText(next != nullptr ? tr("Next: %1").arg(next->list) : tr("Done"));
  next_->setEnabled(next != nullptr);
  previous_->setEnabled(walk_->previous() != nullptr);
  arrange();
}

void LessonsPage::showFigure(const LessonStep& step) {
  auto& figure = made_[step.figure];
  const bool isNew = figure == nullptr;
  if (isNew) {
    figure = makeFigure(step.figure, figures_);
    if (figure == nullptr) return;
    figures_->addWidget(figure);
    connect(figure, &Figure::changed, try_, &TryCard::refresh);
  }
  figures_->setCurrentWidget(figure);
  figure->showState(step.state, isNew ? Motion::Cut : wantedMotion(*this));
  models_->serve(figure, step.model);
  if (const LessonStep* next = walk_->next()) models_->ahead(next->model);
}

void LessonsPage::arrange() {
  list_->setNarrow(width() < grown(kNarrowList));
  const bool above = width() < grown(kTextAbove);
  rest_->setDirection(above ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
  if (above) {
    textColumn_->setFixedWidth(width() - list_->width());
    textColumn_->setMaximumHeight(height() / 2);
  } else {
    textColumn_->setFixedWidth(grown(kTextWidth));
    textColumn_->setMaximumHeight(QWIDGETSIZE_MAX);
  }
  setOut(*text_->document());
  const bool scrolls = above || height() < grown(kScrolls);
  const int bar = scrolls ? style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, this) : 0;
  const int measure = textColumn_->width() - 2 * kMargin - 1 - bar;  // and a hairline
  text_->document()->setTextWidth(measure);
  text_->setFixedHeight(static_cast<int>(text_->document()->size().height()) + grown(8));
}

void LessonsPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (figure() != nullptr) models_->serve(figure(), walk_->current().model);
}

void LessonsPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

bool LessonsPage::event(QEvent* event) {
  const bool handled = QWidget::event(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) arrange();
  return handled;
}

void LessonsPage::present() {
  presenter_ = std::make_unique<Presenter>(walk_, models_);
  connect(presenter_.get(), &Presenter::themeWanted, this, &LessonsPage::themeWanted);
  connect(presenter_.get(), &Presenter::closed, this, [this] {
    presenter_.release()->deleteLater();
    activateWindow();
    setFocus();
  });
  presenter_->showOn(screen());
}

}  // namespace normlens::ui

#include "lessons_page.moc"
