#include "ui/widgets/hint_card.h"

#include <QLabel>
#include <QVBoxLayout>

#include "ui/widgets/frames.h"

namespace normlens::ui {

HintCard::HintCard(QWidget* over) : QFrame(over) {
  setKind(this, "card");
  setAttribute(Qt::WA_TransparentForMouseEvents);
  auto* lines = new QVBoxLayout(this);
  lines->setContentsMargins(14, 10, 14, 10);
  lines->setSpacing(3);
  title_ = makeLabel({}, "section", this);
  words_ = makeLabel({}, "soft", this);
  for (QLabel* line : {title_, words_}) {
    line->setWordWrap(true);
    lines->addWidget(line);
  }
  hide();
}

void HintCard::show(const QString& title, const QString& words) {
  title_->setText(title);
  words_->setText(words);
  constexpr int kMargin = 16, kWidest = 520;
  const QWidget* over = parentWidget();
  const int width = qMin(kWidest, over->width() - 2 * kMargin);
  const int height = layout()->hasHeightForWidth() ? layout()->totalHeightForWidth(width) : sizeHint().height();
  setGeometry(kMargin, over->height() - height - kMargin, width, height);
  QFrame::show();
  raise();
}

}  // namespace normlens::ui
