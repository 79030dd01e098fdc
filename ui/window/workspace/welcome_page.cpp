#include "ui/window/workspace/welcome_page.h"

#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"
#include "ui/window/workspace/welcome_cards.h"

namespace normlens::ui {

namespace {

constexpr int kPageWidth = 1040, kShownRecent = 4;

class Logo final : public QWidget {
 public:
  explicit Logo(QWidget* parent) : QWidget(parent) { setFixedSize(40, 52); }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    paintIcon(painter, QRectF(-6, 0, 52, 52), QStringLiteral("normlens"), themeOf(this).text);
  }
};

QHBoxLayout* makeTitle(QWidget* parent) {
  auto* head = new QHBoxLayout;
  head->setSpacing(8);
  head->addWidget(new Logo(parent), 0, Qt::AlignTop);
  auto* words = new QVBoxLayout;
  words->setSpacing(2);
  words->addWidget(makeLabel(QStringLiteral("NormLens"), "hero", parent));
  words->addWidget(
      makeLabel(WelcomePage::tr("Finds the LayerNorms that can become RMSNorms without changing any output."),
                "heroText", parent));
  head->addLayout(words);
  head->addStretch(1);
  return head;
}

QHBoxLayout* makeSteps(QWidget* parent) {
  auto* steps = new QHBoxLayout;
  steps->setSpacing(16);
  steps->addWidget(
      makeStepCard(1, StepArt::Open, WelcomePage::tr("Open"),
                   WelcomePage::tr("Load a TorchScript or ONNX model. Each LayerNorm gets a verdict and a reason."),
                   parent),
      1);
  steps->addWidget(
      makeStepCard(2, StepArt::Fold, WelcomePage::tr("Fold"),
                   WelcomePage::tr(
                       "Center the weights it depends on. The fold is proved in float64 and in the file's own type."),
                   parent),
      1);
  steps->addWidget(
      makeStepCard(3, StepArt::Measure, WelcomePage::tr("Measure"),
                   WelcomePage::tr("Time both models in interleaved rounds and export the faster one."), parent),
      1);
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
  auto* outer = new QHBoxLayout(page);
  outer->setContentsMargins(24, 48, 24, 32);
  auto* column = new QWidget(page);
  column->setMaximumWidth(kPageWidth);
  outer->addStretch(1);
  outer->addWidget(column, 100);
  outer->addStretch(1);
  auto* layout = new QVBoxLayout(column);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addLayout(makeTitle(column));
  layout->addSpacing(24);
  layout->addLayout(makeSteps(column));
  layout->addSpacing(22);

  auto* middle = new QHBoxLayout;
  middle->setSpacing(16);
  demoBox_ = new QWidget(column);
  auto* demoColumn = new QVBoxLayout(demoBox_);
  demoColumn->setContentsMargins(0, 0, 0, 0);
  demoColumn->setSpacing(10);
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
  auto* recentColumn = new QVBoxLayout;
  recentColumn->setSpacing(10);
  recentColumn->addWidget(makeLabel(tr("Recent files"), "strong", column));
  recentCard_ = new QFrame(column);
  recentCard_->setProperty("kind", "card");
  recent_ = new QVBoxLayout(recentCard_);
  recent_->setContentsMargins(0, 4, 0, 4);
  recent_->setSpacing(0);
  recentColumn->addWidget(recentCard_);
  recentColumn->addStretch(1);
  middle->addLayout(recentColumn, 1);
  layout->addLayout(middle);
  layout->addSpacing(22);

  drop_ = new DropArea(column);
  connect(drop_, &DropArea::openClicked, this, &WelcomePage::openClicked);
  layout->addWidget(drop_);
  layout->addStretch(1);
  refresh();
}

void WelcomePage::refresh() {
  fillDemos();
  fillRecent();
}

void WelcomePage::setDropping(bool on) { drop_->setHot(on); }

void WelcomePage::fillDemos() {
  empty(demos_);
  const QVector<DemoModel> models = demoModels();
  demoBox_->setVisible(!models.isEmpty());
  for (int i = 0; i < models.size(); ++i) {
    auto* card = new DemoCard(models[i], demoBox_);
    card->setObjectName(QStringLiteral("demo%1").arg(i));
    const QString path = models[i].path;
    connect(card, &QAbstractButton::clicked, this, [this, path] { Q_EMIT fileChosen(path); });
    demos_->addWidget(card, i / 3, i % 3);
  }
  for (int column = 0; column < 3; ++column) demos_->setColumnStretch(column, 1);
}

void WelcomePage::fillRecent() {
  empty(recent_);
  const QVector<RecentFile> files = recentFiles();
  const int shown = qMin(static_cast<int>(files.size()), kShownRecent);
  for (int i = 0; i < shown; ++i) {
    auto* row = new RecentRow(files[i], i + 1 == shown, recentCard_);
    const QString path = files[i].path;
    connect(row, &QAbstractButton::clicked, this, [this, path] { Q_EMIT fileChosen(path); });
    recent_->addWidget(row);
  }
  if (shown == 0) {
    QLabel* none = makeLabel(tr("Files that you open are listed here."), "soft", recentCard_);
    none->setContentsMargins(14, 12, 14, 12);
    recent_->addWidget(none);
  }
}

}  // namespace normlens::ui
