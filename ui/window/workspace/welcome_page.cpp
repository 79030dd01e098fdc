#include "ui/window/workspace/welcome_page.h"

#include <QDir>
#include <QFileInfo>
#include <QGridLayout>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QWidget>
#include <array>

#include "ui/session/project/demo_models.h"
#include "ui/session/project/recent_files.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/push_button.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kPictureHeight = 76, kNumberSize = 21, kShareHeight = 4;

QString tr(const char* words) { return WelcomePage::tr(words); }

// A picture in the theme's colors.
using PaintStep = void (*)(QPainter& painter, const Theme& theme);

class StepPicture final : public QWidget {
 public:
  StepPicture(PaintStep paint, QWidget* parent) : QWidget(parent), paint_(paint) { setFixedHeight(kPictureHeight); }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    paint_(painter, themeOf(this));
  }

 private:
  PaintStep paint_;
};

QString homely(const QString& folder) {
  const QString home = QDir::homePath();
  return folder == home || folder.startsWith(home + u'/') ? u'~' + folder.mid(home.size()) : folder;
}

// A button that is filled with labels, as large as they want it: a style sheet's least height is lower.
class CardButton final : public QPushButton {
 public:
  explicit CardButton(QWidget* parent) : QPushButton(parent) {}
  [[nodiscard]] QSize sizeHint() const override {
    return layout() != nullptr ? layout()->totalSizeHint() : QPushButton::sizeHint();
  }
  [[nodiscard]] QSize minimumSizeHint() const override {
    return layout() != nullptr ? layout()->totalMinimumSize() : QPushButton::minimumSizeHint();
  }
};

QPushButton* makeCardButton(const char* kind, const QString& name, const QString& path, QWidget* parent) {
  auto* card = new CardButton(parent);
  card->setProperty("kind", kind);
  card->setFocusPolicy(Qt::TabFocus);
  card->setAccessibleName(name);
  card->setToolTip(path);
  return card;
}

QLabel* makeElided(const QString& words, Qt::TextElideMode mode, const char* kind, QWidget* parent) {
  auto* line = new ElidedLabel(words, mode, parent);
  line->setProperty("kind", kind);
  return line;
}

// Shows as lengths how many of the norms fold free, with centering, and not.
QLayout* makeBarOf(const DemoModel& model, QWidget* parent) {
  const std::pair<int, const char*> parts[] = {
      {model.free, "barFree"}, {model.withCentering, "barCentering"}, {model.blocked, "barBlocked"}};
  auto* bar = makeRow(nullptr, 2);
  for (const auto& [count, kind] : parts) {
    if (count <= 0) continue;
    auto* part = new QFrame(parent);
    part->setFixedHeight(kShareHeight);
    part->setProperty("kind", kind);
    bar->addWidget(part, count);
  }
  return bar;
}

// The labels are to be looked through: the card is what is clicked.
void letClicksThrough(const QWidget* card) {
  for (QWidget* part : card->findChildren<QWidget*>()) part->setAttribute(Qt::WA_TransparentForMouseEvents);
}

// Number, title and two lines under a picture.
QFrame* makeStepCard(int number, PaintStep picture, const QString& title, const QString& text, QWidget* parent) {
  auto* card = makeCard(parent);
  auto* layout = makeColumn(card, 6, {22, 18, 20, 18});
  layout->addWidget(new StepPicture(picture, card));
  layout->addSpacing(8);
  auto* head = makeRow(nullptr, 8);
  QLabel* disc = makeLabel(QString::number(number), "stepNumber", card);
  setTextWidth(disc, kNumberSize);
  setTextHeight(disc, kNumberSize);
  disc->setAlignment(Qt::AlignCenter);
  head->addWidget(disc);
  head->addWidget(makeLabel(title, "title", card));
  head->addStretch(1);
  layout->addLayout(head);
  layout->addWidget(makeWords("step", card, text));
  layout->addStretch(1);
  return card;
}

// A demo model with what folds in it as a bar.
QPushButton* makeDemoCard(const DemoModel& model, QWidget* parent) {
  const bool counted = model.free >= 0;  // else: room for more lines
  auto* card = makeCardButton("demoCard", tr("Open the demo %1").arg(model.title), model.path, parent);
  setTextHeight(card, counted ? 84 : 124);
  card->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  auto* layout = makeColumn(card, 3, {14, 10, 14, 10});
  auto* head = makeRow(nullptr, 8);
  head->addWidget(makeElided(model.title, Qt::ElideRight, "strong", card), 1);
  head->addWidget(makeLabel(formatBytes(model.bytes), "small", card));
  layout->addLayout(head);
  layout->addWidget(counted ? makeElided(model.description, Qt::ElideRight, "soft", card)
                            : makeWords("soft", card, model.description));
  if (counted) {
    layout->addLayout(makeBarOf(model, card));
    auto* counts = makeRow(nullptr);
    counts->addWidget(makeLabel(tr("%1 free").arg(model.free), "small", card));
    counts->addStretch(1);
    const bool blocked = model.blocked > 0;
    counts->addWidget(!blocked && model.withCentering > 0
                          ? makeLabel(tr("%1 with centering").arg(model.withCentering), "small", card)
                          : makeLabel(tr("%1 blocked").arg(model.blocked), blocked ? "smallBad" : "small", card));
    layout->addLayout(counts);
  }
  letClicksThrough(card);
  return card;
}

// A recently opened file: name, folder, how many of its norms fold.
QPushButton* makeRecentRow(const RecentFile& file, QWidget* parent) {
  const QFileInfo info(file.path);
  auto* row = makeCardButton("recentRow", tr("Open %1").arg(file.path), file.path, parent);
  auto* layout = makeRow(row, 10, {14, 8, 14, 8});
  layout->addWidget(new ThemedIcon("file", &Theme::textSoft, {16, 16}, {0, 0, 16, 16}, row));
  auto* lines = makeColumn(nullptr);
  lines->addWidget(makeElided(info.fileName(), Qt::ElideMiddle, "name", row));
  lines->addWidget(makeElided(homely(folderOf(file.path)), Qt::ElideMiddle, "small", row));
  layout->addLayout(lines, 1);
  if (file.layerNorms >= 0) {
    layout->addWidget(makeLabel(tr("%1 of %2").arg(file.foldable).arg(file.layerNorms), "plain12", row));
  }
  letClicksThrough(row);
  return row;
}

// ---- the three pictures

// Three norms on a stream, each with its verdict.
void paintOpen(QPainter& painter, const Theme& theme) {
  painter.setPen(QPen(theme.textSoft, 1.4));
  painter.drawLine(QPointF(2, 0), QPointF(2, 74));
  for (int i = 0; i < 3; ++i) {
    const double y = 5 + 24.0 * i;
    QPainterPath branch(QPointF(2, y));
    branch.cubicTo(12, y, 16, y + 8, 34, y + 8);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.textSoft, 1.4));
    painter.drawPath(branch);
    painter.setPen(QPen(i == 1 ? theme.classes.chosen : theme.textSoft, i == 1 ? 2 : 1.4));
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(QRectF(34, y, 76, 16), 4, 4);
    const bool folds = i < 2;
    paintIcon(painter, QRectF(122, y, 16, 16), folds ? QStringLiteral("free") : QStringLiteral("blocked"),
              folds ? theme.good : theme.blocked);
  }
}

// Column means, before and after the mean is taken away.
void paintFold(QPainter& painter, const Theme& theme) {
  constexpr std::array before{4.0, 15.0, -2.0, 19.0, 7.0, 24.0, 2.0};
  constexpr std::array after{-6.0, 6.0, -12.0, 10.0, -3.0, 14.0, -8.0};
  constexpr double zero = 38;
  const auto bars = [&](double left, const auto& heights, const QColor& color) {
    painter.setPen(QPen(theme.textFaint, 1.2, Qt::DashLine));
    painter.drawLine(QPointF(left - 4, zero), QPointF(left + 82, zero));
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    for (size_t i = 0; i < heights.size(); ++i) {
      const double height = heights[i];
      painter.drawRect(
          QRectF(left + 11.5 * static_cast<double>(i), height > 0 ? zero - height : zero, 7, std::abs(height)));
    }
  };
  bars(4, before, theme.classes.chosen);
  paintIcon(painter, QRectF(97, zero - 7, 14, 14), QStringLiteral("chevron_right"), theme.text);
  bars(124, after, theme.linearLine);
}

// Two latencies over time, one below the other.
void paintMeasure(QPainter& painter, const Theme& theme) {
  painter.setPen(QPen(theme.textSoft, 1.4));
  painter.drawPolyline(QPolygonF({{2, 2}, {2, 72}, {162, 72}}));
  const auto line = [&](double base, const QColor& color) {
    constexpr std::array wiggle{0.0, 4.0, -3.0, -2.0, 4.0, -1.0, 3.0, -2.0, -3.0, 3.0, 0.0, -3.0};
    QPolygonF points;
    for (size_t i = 0; i < wiggle.size(); ++i) points << QPointF(10 + 13.0 * static_cast<double>(i), base + wiggle[i]);
    painter.setPen(QPen(color, 1.8, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    painter.drawPolyline(points);
  };
  line(23, theme.textFaint);
  line(53, theme.accentText);
}

constexpr int kPageWidth = 1040, kShownRecent = 4;

QHBoxLayout* makeTitle(QWidget* parent) {
  auto* head = makeRow(nullptr, 8);
  head->addWidget(new ThemedIcon("normlens", &Theme::text, {40, 52}, {-6, 0, 52, 52}, parent), 0, Qt::AlignTop);
  auto* words = makeColumn(nullptr, 2);
  words->addWidget(makeLabel(QStringLiteral("NormLens"), "hero", parent));
  words->addWidget(
      makeLabel(WelcomePage::tr("Finds the LayerNorms that can become RMSNorms without changing any output."),
                "heroText", parent));
  head->addLayout(words);
  head->addStretch(1);
  return head;
}

QHBoxLayout* makeSteps(QWidget* parent) {
  auto* steps = makeRow(nullptr, 16);
  const auto add = [&](PaintStep picture, const QString& title, const QString& text) {
    steps->addWidget(makeStepCard(steps->count() + 1, picture, title, text, parent), 1);
  };
  add(paintOpen, WelcomePage::tr("Open"),
      WelcomePage::tr(
          "Open a TorchScript, torch.export or ONNX model. Each LayerNorm gets a verdict with its reason."));
  add(paintFold, WelcomePage::tr("Fold"),
      WelcomePage::tr("Center the weights that feed it. The fold is proved in float64 and in the file's own type."));
  add(paintMeasure, WelcomePage::tr("Measure"),
      WelcomePage::tr("Time both models in alternating rounds and export the faster one."));
  return steps;
}

void empty(QLayout* layout) {
  while (QLayoutItem* item = layout->takeAt(0)) {
    delete item->widget();
    delete item;
  }
}

}  // namespace

WelcomePage::WelcomePage(QWidget* parent) : QScrollArea(parent) {
  setObjectName(QStringLiteral("welcome"));
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::NoFocus);
  auto* page = new QWidget(this);
  setWidget(page);
  auto* outer = makeRow(page, -1, {24, 48, 24, 32});
  auto* column = new QWidget(page);
  followText(column, [column] { column->setMaximumWidth(grown(kPageWidth)); });
  outer->addStretch(1);
  outer->addWidget(column, 100);
  outer->addStretch(1);
  auto* layout = makeColumn(column);
  auto* title = makeTitle(column);
  auto* atlas = describe(makeButton(tr("Which architectures fold?"), "link", column), "welcomeAtlas",
                         tr("A table of architectures of transformers and timm, with the reason for each (Ctrl+4)."));
  connect(atlas, &QPushButton::clicked, this, &WelcomePage::atlasClicked);
  title->addWidget(atlas, 0, Qt::AlignBottom);
  layout->addLayout(title);
  layout->addSpacing(24);
  layout->addLayout(makeSteps(column));
  layout->addSpacing(22);

  auto* middle = makeRow(nullptr, 16);
  demoBox_ = new QWidget(column);
  auto* demoColumn = makeColumn(demoBox_, 10);
  auto* demoHead = new QHBoxLayout;
  demoHead->addWidget(makeLabel(tr("Demo models"), "strong", demoBox_));
  demoHead->addStretch(1);
  demoHead->addWidget(makeLabel(tr("included, open offline"), "soft", demoBox_));
  demoColumn->addLayout(demoHead);
  demos_ = new QGridLayout;
  demos_->setSpacing(16);
  demoColumn->addLayout(demos_);
  demoColumn->addStretch(1);
  middle->addWidget(demoBox_, 2);
  auto* recentColumn = makeColumn(nullptr, 10);
  recentColumn->addWidget(makeLabel(tr("Recent files"), "strong", column));
  recentCard_ = makeCard(column);
  recent_ = makeColumn(recentCard_, 0, {0, 4, 0, 4});
  recentColumn->addWidget(recentCard_);
  recentColumn->addStretch(1);
  middle->addLayout(recentColumn, 1);
  layout->addLayout(middle);
  layout->addSpacing(22);

  layout->addWidget(makeDropArea(column));
  layout->addStretch(1);
  refresh();
}

void WelcomePage::refresh() {
  fillDemos();
  fillRecent();
}

QWidget* WelcomePage::makeDropArea(QWidget* parent) {
  auto* drop = new QFrame(parent);
  setTextHeight(drop, 176);
  setKind(drop, "drop");
  auto* open = describe(new PushButton(tr("Open model"), PushButton::Look::Filled, drop), "welcomeOpen",
                        tr("Choose a TorchScript, torch.export or ONNX model, or a project, to open (Ctrl+O)."));
  open->setIconName(QStringLiteral("open"));
  connect(open, &QPushButton::clicked, this, &WelcomePage::openClicked);
  auto* column = makeColumn(drop, 6, {8, 8, 8, 8});
  column->addStretch(1);
  for (QWidget* part : std::initializer_list<QWidget*>{
           new ThemedIcon("file", &Theme::textSoft, {30, 30}, {0, 0, 30, 30}, drop),
           makeLabel(tr("Drop a model here"), "title", drop),
           makeLabel(tr("TorchScript .pt, torch.export .pt2 or ONNX .onnx, as large as memory allows"), "step", drop),
           open}) {
    column->addWidget(part, 0, Qt::AlignHCenter);
  }
  column->insertSpacing(column->count() - 1, 6);
  column->addStretch(1);
  return drop;
}

void WelcomePage::fillDemos() {
  empty(demos_);
  const QVector<DemoModel> models = demoModels();
  demoBox_->setVisible(!models.isEmpty());
  for (int i = 0; i < models.size(); ++i) {
    QPushButton* card = makeDemoCard(models[i], demoBox_);
    card->setObjectName(QStringLiteral("demo%1").arg(i));
    connect(card, &QPushButton::clicked, this, [this, path = models[i].path] { Q_EMIT fileChosen(path); });
    demos_->addWidget(card, i / 3, i % 3);
  }
  for (int column = 0; column < 3; ++column) demos_->setColumnStretch(column, 1);
}

void WelcomePage::fillRecent() {
  empty(recent_);
  const QVector<RecentFile> files = recentFiles();
  const int shown = qMin(static_cast<int>(files.size()), kShownRecent);
  for (int i = 0; i < shown; ++i) {
    QPushButton* row = makeRecentRow(files[i], recentCard_);
    connect(row, &QPushButton::clicked, this, [this, path = files[i].path] { Q_EMIT fileChosen(path); });
    if (i > 0) recent_->addWidget(makeLine(Qt::Horizontal, recentCard_));
    recent_->addWidget(row);
  }
  if (shown == 0) {
    QLabel* none = makeLabel(tr("Files that you open appear here."), "soft", recentCard_);
    none->setContentsMargins(14, 12, 14, 12);
    recent_->addWidget(none);
  }
}

}  // namespace normlens::ui
