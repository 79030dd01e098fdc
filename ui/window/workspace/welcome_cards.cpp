#include "ui/window/workspace/welcome_cards.h"

#include <QDir>
#include <QFileInfo>
#include <QPainter>
#include <QPushButton>

#include "ui/session/words/format.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/parts.h"
#include "ui/window/workspace/welcome_page.h"

namespace normlens::ui {

namespace {

constexpr int kPictureHeight = 76, kRowHeight = 50, kNumberSize = 21, kShareHeight = 4;

QString tr(const char* words) { return WelcomePage::tr(words); }

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

// A button that is filled with labels.
QPushButton* makeCard(const char* kind, const QString& name, const QString& path, QWidget* parent) {
  auto* card = makeButton({}, kind, parent);
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

}  // namespace

QFrame* makeStepCard(int number, PaintStep picture, const QString& title, const QString& text, QWidget* parent) {
  auto* card = new QFrame(parent);
  card->setProperty("kind", "card");
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

QPushButton* makeDemoCard(const DemoModel& model, QWidget* parent) {
  const bool counted = model.free >= 0;  // else: room for more lines
  auto* card = makeCard("demoCard", tr("Open the demo %1").arg(model.title), model.path, parent);
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

QPushButton* makeRecentRow(const RecentFile& file, QWidget* parent) {
  const QFileInfo info(file.path);
  auto* row = makeCard("recentRow", tr("Open %1").arg(file.path), file.path, parent);
  setTextHeight(row, kRowHeight);
  auto* layout = makeRow(row, 10, {14, 6, 14, 6});
  layout->addWidget(new ThemedIcon("file", &Theme::textSoft, {16, 16}, {0, 0, 16, 16}, row));
  auto* lines = makeColumn(nullptr);
  lines->addWidget(makeElided(info.fileName(), Qt::ElideMiddle, "name", row));
  lines->addWidget(makeElided(homely(info.absolutePath()), Qt::ElideMiddle, "small", row));
  layout->addLayout(lines, 1);
  if (file.layerNorms >= 0) {
    layout->addWidget(makeLabel(tr("%1 of %2").arg(file.foldable).arg(file.layerNorms), "plain12", row));
  }
  letClicksThrough(row);
  return row;
}

}  // namespace normlens::ui
