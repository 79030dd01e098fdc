// LabPage: the files that it reads and writes.
#include <QDir>
#include <QFileInfo>
#include <QPainter>

#include "core/base/files.h"
#include "ui/models/lab_table.h"
#include "ui/models/table_text.h"
#include "ui/session/lab/lab_runs.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/plots/picture_file.h"
#include "ui/window/lab/lab_figures.h"
#include "ui/window/lab/lab_page.h"
#include "ui/window/parts.h"

namespace normlens::ui {
namespace {

constexpr size_t kMostSettings = 1 << 20;  // bytes

}  // namespace

void LabPage::openSettings() {
  const FileQuestion question{QStringLiteral("labOpenDialog"),
                              tr("Open the settings of a run"),
                              {tr("Settings of a run (*.json)")},
                              folderOf(session_->path())};
  askForFile(this, question, [this](const QString& path) {
    const auto read = files::readSmall(path.toStdString(), kMostSettings);
    if (!read) return tell(tr("%1 could not be read.").arg(path));
    auto settings = lab::readRunSettings(*read);
    if (!settings) return tell(asSentence(text(settings.error().message)));
    if (std::string& examples = settings->data.path; !examples.empty())  // from the file's own folder
      examples = QFileInfo(path).dir().absoluteFilePath(text(examples)).toStdString();
    useSettings(*settings);
  });
}

void LabPage::save(const char* name, const QString& title, const QStringList& filters, const QString& suggested,
                   const std::function<bool(const QString& path)>& write) {
  const FileQuestion question{QLatin1String(name), title, filters, folderOf(session_->path()), suggested};
  askAndWrite(this, question, write, [this](const QString& problem) { tell(problem); });
}

void LabPage::saveSettings(const lab::RunSettings& settings) {
  save("labSaveDialog", tr("Save the settings"), {tr("Settings of a run (*.json)")}, text(settings.experiment),
       [settings](const QString& path) {
         return writeFile(path, QByteArray::fromStdString(lab::writeRunSettings(settings)));
       });
}

void LabPage::savePicture() {
  const QStringList filters{tr("PNG (*.png)"), tr("SVG (*.svg)"), tr("PDF (*.pdf)")};
  save("labPictureDialog", tr("Save the charts"), filters, QStringLiteral("laboratory"), [this](const QString& path) {
    return writePicture(path, figures_->size(), themeOf(this).canvas,
                        [this](QPainter& painter) { figures_->render(&painter); });
  });
}

void LabPage::saveTable() {
  save("labTableDialog", tr("Save the table"), {tr("Tables (*.csv)")}, QStringLiteral("laboratory"),
       [this](const QString& path) {
         return writeFile(path, tableText(*table_, allRows(*table_), TableFormat::Csv).toUtf8());
       });
}

}  // namespace normlens::ui
