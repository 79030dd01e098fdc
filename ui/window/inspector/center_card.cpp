#include "ui/window/inspector/center_card.h"

#include <QPushButton>
#include <QScrollArea>
#include <QTimer>
#include <algorithm>

#include "core/protocol/methods.h"
#include "ui/session/session.h"
#include "ui/widgets/lesson_link.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

CenterCard::CenterCard(Session* session, const QString& suffix, QWidget* parent)
    : QFrame(parent), session_(session), question_(session->engine(), this) {
  setObjectName(QStringLiteral("centerCard") + suffix);
  linkLesson(this, "auxiliary");
  setProperty("kind", "card");
  auto* layout = makeColumn(this, 4, {10, 8, 10, 8});
  title_ = makeWords("section", this);
  sentence_ = makeWords("soft", this);
  layout->addWidget(title_);
  layout->addWidget(sentence_);
  auto* buttons = new QHBoxLayout;
  add_ = makeButton({}, "secondary", this);
  add_->setObjectName(QStringLiteral("addCentering") + suffix);
  add_->setToolTip(tr("Change the plan this way. Undo reverts it."));
  auto* close = makeButton(tr("Close"), "link", this);
  close->setToolTip(tr("Keep the plan unchanged."));
  buttons->addWidget(add_);
  buttons->addWidget(close);
  buttons->addStretch(1);
  layout->addLayout(buttons);
  connect(close, &QPushButton::clicked, this, &CenterCard::dismiss);
  connect(add_, &QPushButton::clicked, this, [this] {
    const int value = value_;
    dismiss();
    session_->choices()->centerValue(value, !remove_);
  });
  // The text is about the plan as it was.
  connect(session_, &Session::planChanged, this, &CenterCard::dismiss);
  hide();
}

void CenterCard::ask(int value) {
  question_.drop();
  value_ = value;
  if (value < 0) {
    showAnswer(tr("Nothing to center here"), tr("No tensor here changes with the input."), false, false);
    return;
  }
  const auto& already = session_->choices()->params().center_values;
  if (std::find(already.begin(), already.end(), value) != already.end()) {
    showAnswer(tr("Centered here"), tr("You added this centering to the plan."), true, true);
    return;
  }
  showAnswer(tr("Center here?"), tr("Waiting for the engine."), false, false);
  question_.ask(protocol::methods::kPreviewCenter, {value}, [this](const Reply<protocol::CenterPreview>& reply) {
    if (!reply) {
      showAnswer(tr("Center here?"), asSentence(reply.error().message), false, false);
      return;
    }
    const int frees = static_cast<int>(reply->frees.size());
    const QString title = !reply->allowed ? tr("Cannot be centered here")
                          : frees == 0    ? tr("Centering here frees no LayerNorm")
                          : frees == 1    ? tr("Centering here frees 1 LayerNorm")
                                          : tr("Centering here frees %1 LayerNorms").arg(frees);
    showAnswer(title, asSentence(text(reply->reason)), reply->allowed, false);
  });
}

void CenterCard::showAnswer(const QString& title, const QString& sentence, bool allowed, bool remove) {
  remove_ = remove;
  title_->setText(title);
  sentence_->setText(sentence);
  sentence_->setVisible(!sentence.isEmpty());
  add_->setVisible(allowed);
  add_->setText(remove ? tr("Remove from the plan") : tr("Add to the plan"));
  show();
  // Once it has its room.
  QTimer::singleShot(0, this, [this] {
    for (QWidget* above = parentWidget(); above != nullptr; above = above->parentWidget()) {
      if (auto* area = qobject_cast<QScrollArea*>(above)) return area->ensureWidgetVisible(this);
    }
  });
}

void CenterCard::dismiss() {
  question_.drop();
  value_ = -1;
  hide();
}

}  // namespace normlens::ui
