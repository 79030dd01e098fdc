#include "ui/window/bottom/side_choice.h"

#include <QCoreApplication>

#include "ui/session/session.h"
#include "ui/session/words/bench_text.h"
#include "ui/session/words/format.h"
#include "ui/window/actions.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr QLatin1String kAsk("?");
constexpr int kLetters = 5;  // an icon's room comes on top

}  // namespace

SideChoice::SideChoice(Session* session, Which which, QWidget* parent) : QComboBox(parent), session_(session) {
  setSizeAdjustPolicy(AdjustToMinimumContentsLengthWithIcon);
  setMinimumContentsLength(kLetters);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  const auto add = [this](const QString& words, const QString& side, const QString& tip) {
    addItem(words, side);
    setItemData(count() - 1, tip, Qt::ToolTipRole);
  };
  const auto addSide = [&](const std::string& side, const QString& tip) { add(sideName(side), text(side), tip); };
  addSide("original", tr("The open model as it is in its file."));
  addSide("folded", tr("The open model's last fold."));
  for (const NamedWay& flavour : normFlavours()) {
    addSide(std::string("folded:") + flavour.name, QCoreApplication::translate("Flavour", flavour.meaning));
  }
  addSide("fused", tr("The open model with each norm, and the residual add before it, as one op; nothing is folded."));
  if (which == Which::B) add(tr("alone"), {}, tr("The first model alone."));
  add(tr("a file…"), kAsk, tr("The model of a file, with the open model's inputs."));
  connect(this, &QComboBox::activated, this, [this] {
    if (currentData().toString() != kAsk) return choose(currentData().toString().toStdString());
    setSide(side_);  // until a file is chosen
    askForFile(this,
               {objectName() + QStringLiteral("Dialog"), tr("Measure the model of a file"), modelFilters(),
                folderOf(session_->path())},
               [this](const QString& path) { choose(path.toStdString()); });
  });
}

void SideChoice::choose(const std::string& side) {
  setSide(side);
  Q_EMIT chosen();
}

void SideChoice::setSide(const std::string& side) {
  side_ = side;
  if (findData(text(side)) < 0) {
    insertItem(count() - 1, sideName(side), text(side));
    setItemData(count() - 2, text(side), Qt::ToolTipRole);
  }
  setCurrentIndex(findData(text(side)));
}

}  // namespace normlens::ui
