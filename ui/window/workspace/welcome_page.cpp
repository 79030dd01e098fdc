#include "ui/window/workspace/welcome_page.h"

#include <QGridLayout>
#include <QLabel>
#include <QPushButton>

#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/push_button.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/welcome_cards.h"

namespace normlens::ui {

namespace {

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
      WelcomePage::tr("Load a TorchScript, torch.export or ONNX model. Each LayerNorm gets a verdict and a reason."));
  add(paintFold, WelcomePage::tr("Fold"),
      WelcomePage::tr("Center the weights it depends on. The fold is proved in float64 and in the file's own type."));
  add(paintMeasure, WelcomePage::tr("Measure"),
      WelcomePage::tr("Time both models in interleaved rounds and export the faster one."));
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
  layout->addLayout(makeTitle(column));
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
  recentCard_ = new QFrame(column);
  recentCard_->setProperty("kind", "card");
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
  drop_ = new QFrame(parent);
  setTextHeight(drop_, 176);
  setDropping(false);
  auto* open = describe(new PushButton(tr("Open model"), PushButton::Look::Filled, drop_), "welcomeOpen",
                        tr("Choose a TorchScript, torch.export or ONNX model, or a project, to open (Ctrl+O)."));
  open->setIconName(QStringLiteral("open"));
  connect(open, &QPushButton::clicked, this, &WelcomePage::openClicked);
  auto* column = makeColumn(drop_, 6, {8, 8, 8, 8});
  column->addStretch(1);
  for (QWidget* part : std::initializer_list<QWidget*>{
           new ThemedIcon("file", &Theme::textSoft, {30, 30}, {0, 0, 30, 30}, drop_),
           makeLabel(tr("Drop a model here"), "title", drop_),
           makeLabel(tr("TorchScript .pt, torch.export .pt2 or ONNX .onnx, up to the memory of this machine"), "step",
                     drop_),
           open}) {
    column->addWidget(part, 0, Qt::AlignHCenter);
  }
  column->insertSpacing(column->count() - 1, 6);
  column->addStretch(1);
  return drop_;
}

void WelcomePage::setDropping(bool on) { setKind(drop_, on ? "dropHot" : "drop"); }

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
    QLabel* none = makeLabel(tr("Files that you open are listed here."), "soft", recentCard_);
    none->setContentsMargins(14, 12, 14, 12);
    recent_->addWidget(none);
  }
}

}  // namespace normlens::ui
