#include "ui/window/bottom/side_choice.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>

#include "ui/session/session.h"
#include "ui/session/words/bench_text.h"
#include "ui/session/words/format.h"
#include "ui/window/actions.h"

namespace normlens::ui {

namespace {

constexpr QLatin1String kAsk("?");
constexpr int kLetters = 4;  // an icon's room comes on top

}  // namespace

SideChoice::SideChoice(Session* session, Which which, QWidget* parent) : QComboBox(parent), session_(session) {
  setSizeAdjustPolicy(AdjustToMinimumContentsLengthWithIcon);
  setMinimumContentsLength(kLetters);
  addSide("original", tr("The open model as it is in its file."));
  addSide("folded", tr("The open model's last fold."));
  for (const NormFlavour& flavour : normFlavours()) {
    addSide(std::string("folded:") + flavour.name, QCoreApplication::translate("Flavour", flavour.meaning));
  }
  addSide("fused", tr("The open model with each norm, and the residual add before it, as one op; nothing is folded."));
  if (which == Which::B) {
    addItem(tr("alone"), QString());
    setItemData(count() - 1, tr("The first model alone."), Qt::ToolTipRole);
  }
  addItem(tr("a file…"), QString(kAsk));
  setItemData(count() - 1, tr("The model of a file, with the open model's inputs."), Qt::ToolTipRole);
  connect(this, &QComboBox::activated, this, [this] {
    if (currentData().toString() == kAsk) {
      askForFile();
    } else {
      side_ = currentData().toString().toStdString();
      Q_EMIT chosen();
    }
  });
}

void SideChoice::addSide(const std::string& side, const QString& tip) {
  addItem(sideName(side), text(side));
  setItemData(count() - 1, tip, Qt::ToolTipRole);
}

std::string SideChoice::side() const { return side_; }

void SideChoice::setSide(const std::string& side) {
  side_ = side;
  if (findData(text(side)) < 0) {
    insertItem(count() - 1, sideName(side), text(side));
    setItemData(count() - 2, text(side), Qt::ToolTipRole);
  }
  setCurrentIndex(findData(text(side)));
}

void SideChoice::askForFile() {
  setSide(side_);  // until a file is chosen
  auto* dialog = new QFileDialog(this, tr("Measure the model of a file"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(objectName() + QStringLiteral("Dialog"));
  dialog->setFileMode(QFileDialog::ExistingFile);
  dialog->setDirectory(QFileInfo(session_->path()).absolutePath());
  dialog->setNameFilters({tr("Models (*.pt *.pth *.onnx)"), tr("All files (*)")});
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    setSide(path.toStdString());
    Q_EMIT chosen();
  });
  dialog->open();
}

}  // namespace normlens::ui
