#include "ui/window/learn/learn_bar.h"

#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/segmented.h"
#include "ui/window/parts.h"

namespace normlens::ui {

LearnBar::LearnBar(LearnPageKind page, QWidget* parent) : QFrame(parent) {
  constexpr int kHeight = 44;
  setObjectName(QStringLiteral("lessonsBar"));
  setTextHeight(this, kHeight);
  auto* row = makeRow(this, 8, {12, 0, 12, 0});
  back_ =
      describe(new IconButton(QStringLiteral("chevron_left"), {}, tr("Back to the model (Esc)."), this), "learnBack");
  back_->setLook(IconButton::Look::Outlined);
  const QVector<Segment> titles{{tr("Lessons"), tr("What the norms do, in interactive figures (Ctrl+1).")},
                                {tr("Laboratory"), tr("Networks trained side by side (Ctrl+2).")},
                                {tr("Geometry probe"), tr("The directions of the open model's vectors (Ctrl+3).")},
                                {tr("Atlas"), tr("Which architectures fold (Ctrl+4).")}};
  setAccessibleName(titles[static_cast<int>(page)].text);
  auto* pages = describe(new Segmented(titles, this), "learnPages", {}, tr("Page"));
  pages->setCurrent(static_cast<int>(page));
  row->addWidget(back_);
  row->addStretch();
  row->addWidget(pages);
  row->addStretch();
  connect(back_, &IconButton::clicked, this, &LearnBar::closed);
  connect(pages, &Segmented::chosen, this, [this, pages, page](int chosen) {
    pages->setCurrent(static_cast<int>(page));  // the other page has a bar of its own
    Q_EMIT pageWanted(static_cast<LearnPageKind>(chosen));
  });
}

void LearnBar::setModelName(const QString& name) { back_->setText(name.isEmpty() ? tr("Start page") : name); }

void LearnBar::addAtEnd(QWidget* widget) { layout()->addWidget(widget); }

}  // namespace normlens::ui
