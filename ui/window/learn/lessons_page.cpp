#include "ui/window/learn/lessons_page.h"

#include <QBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStyle>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextCursor>

#include "ui/learn/figure.h"
#include "ui/learn/figures.h"
#include "ui/learn/formula_view.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/push_button.h"
#include "ui/window/learn/figure_export.h"
#include "ui/window/learn/learn_bar.h"
#include "ui/window/learn/lesson_list.h"
#include "ui/window/learn/lesson_models.h"
#include "ui/window/learn/presenter.h"
#include "ui/window/learn/try_card.h"
#include "ui/window/parts.h"

namespace normlens::ui {
namespace {

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

LessonsPage::LessonsPage(Session* session, bool remembers, QWidget* parent)
    : QWidget(parent),
      session_(session),
      walk_(new LessonWalk(bundledLessons(), remembers, this)),
      models_(new LessonModels(session, this)),
      list_(new LessonList(walk_, this)) {
  setObjectName(QStringLiteral("lessonsPage"));
  setFocusPolicy(Qt::StrongFocus);
  auto* column = makeColumn(this);
  column->addWidget(makeTopBar());
  auto* body = makeRow(nullptr);
  body->addWidget(list_);
  rest_ = new QBoxLayout(QBoxLayout::LeftToRight);
  rest_->setSpacing(0);
  rest_->addWidget(makeText());
  auto* area = describe(new QScrollArea(this), "figureArea");  // where the page is smaller than its figure
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
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
  auto* present = new IconButton({}, tr("Present"),
                                 tr("The same lesson for a room: large type, one figure, nothing else (F5)."), bar_);
  present->setObjectName(QStringLiteral("present"));
  present->setLook(IconButton::Look::Outlined);
  auto* save = describe(
      new IconButton(QStringLiteral("export"), {}, tr("Save the figure as a picture, or what it plays."), bar_),
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
  textColumn_ = new QFrame(this);
  textColumn_->setObjectName(QStringLiteral("lessonColumn"));
  auto* column = makeColumn(textColumn_);
  auto* area = new QScrollArea(textColumn_);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
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
  which_->setText(!own.isEmpty()       ? tr("On a small model of this lesson, %1.pt").arg(own)
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
