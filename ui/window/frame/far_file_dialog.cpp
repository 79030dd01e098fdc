#include "ui/window/frame/far_file_dialog.h"

#include <QDateTime>
#include <QDialog>
#include <QDir>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <algorithm>

#include "ui/client/placed_file.h"
#include "ui/client/question.h"
#include "ui/widgets/delegates/row_delegate.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace methods = protocol::methods;

namespace {

constexpr int kFigures = Qt::UserRole;  // of a file: its size and its day

class FarFileDialog final : public QDialog {
 public:
  using Use = std::function<void(const QString& file)>;
  FarFileDialog(EngineClient* engine, const FileQuestion& question, Use use, QWidget* parent);
  void offerHere(const std::function<void()>& here);

 private:
  void list(const QString& path);
  void fill(const protocol::FolderList& folder);
  void choose();

  EngineClient* engine_;
  Question question_;
  Use use_;
  QStringList patterns_;
  bool saves_;
  QString folder_, agreed_;  // may be replaced
  QLineEdit* path_;
  QListWidget* files_;
  QLabel* note_;
  QHBoxLayout* foot_;
};

FarFileDialog::FarFileDialog(EngineClient* engine, const FileQuestion& question, Use use, QWidget* parent)
    : QDialog(parent),
      engine_(engine),
      question_(engine, this),
      use_(std::move(use)),
      patterns_(question.filters.front().section(u'(', -1).chopped(1).split(u' ')),
      saves_(!question.suggested.isEmpty()),
      path_(describe(new QLineEdit(this), "farPath", {}, tr("File"))),
      files_(describe(new QListWidget(this), "farFiles", {}, tr("Files"))),
      note_(makeWords("faint", this)),
      foot_(makeRow(nullptr, 8, {})) {
  setAttribute(Qt::WA_DeleteOnClose);
  setObjectName(question.name);
  setWindowTitle(tr("%1 on %2").arg(question.title, engine_->host()));
  resize(560, 420);
  auto* column = makeColumn(this, 8, {16, 16, 16, 16});
  auto* place = makeRow(nullptr, 8, {});
  column->addLayout(place);
  QPushButton* up = addButton(place, "secondary", tr("Up"), "farUp", tr("The folder above"));
  place->addWidget(path_, 1);
  column->addWidget(files_, 1);
  column->addWidget(note_);
  column->addLayout(foot_);
  files_->setItemDelegate(new RowDelegate(
      [](const QModelIndex& at) {
        return RowLook{{}, at.data().toString(), at.data(kFigures).toString()};
      },
      24, files_));
  foot_->addStretch(1);
  QPushButton* cancel = addButton(foot_, "secondary", tr("Cancel"), "farCancel", {});
  QPushButton* done = addButton(foot_, "secondary", saves_ ? tr("Save") : tr("Open"), "farUse", {});
  done->setDefault(true);
  connect(up, &QPushButton::clicked, this, [this] { list(QFileInfo(folder_).path()); });
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(done, &QPushButton::clicked, this, [this] { choose(); });
  connect(files_, &QListWidget::currentTextChanged, this, [this](const QString& name) {
    if (!name.isEmpty() && !(saves_ && name.endsWith(u'/'))) path_->setText(QDir(folder_).filePath(name));
  });
  connect(files_, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) {
    path_->setText(QDir(folder_).filePath(item->text()));
    choose();
  });
  const QString folder = machineOf(question.folder) == engine_->host() ? pathThere(question.folder) : QString();
  if (saves_) path_->setText(question.suggested + u'.' + patterns_.front().section(u'.', -1));
  list(folder);
}

void FarFileDialog::offerHere(const std::function<void()>& here) {
  QPushButton* button =
      addButton(foot_, "secondary", tr("This machine…"), "farHere", tr("Choose a file of this machine"));
  foot_->insertWidget(0, button);
  connect(button, &QPushButton::clicked, this, [this, here] {
    reject();
    here();
  });
}

void FarFileDialog::list(const QString& path) {
  question_.ask(methods::kListFolder, {path.toStdString()}, [this](const Reply<protocol::FolderList>& reply) {
    reply ? fill(*reply) : note_->setText(asSentence(reply.error().message));
  });
}

void FarFileDialog::fill(const protocol::FolderList& folder) {
  const QString name = saves_ ? QFileInfo(path_->text()).fileName() : QString();
  folder_ = text(folder.path);
  std::vector<protocol::FolderEntry> entries = folder.entries;
  std::erase_if(entries,
                [this](const auto& entry) { return !entry.folder && !QDir::match(patterns_, text(entry.name)); });
  std::ranges::sort(entries, {},
                    [](const auto& entry) { return std::pair(!entry.folder, text(entry.name).toLower()); });
  files_->clear();
  for (const protocol::FolderEntry& entry : entries) {
    auto* item = new QListWidgetItem(text(entry.name) + (entry.folder ? QStringLiteral("/") : QString()), files_);
    if (entry.folder) continue;
    const QDate day = QDateTime::fromMSecsSinceEpoch(entry.modified / 1'000'000).date();
    item->setData(kFigures, tr("%1 · %2").arg(formatBytes(entry.bytes), formatDate(day)));
    item->setData(Qt::AccessibleTextRole, tr("%1, %2").arg(item->text(), item->data(kFigures).toString()));
  }
  path_->setText(name.isEmpty() ? folder_ : QDir(folder_).filePath(name));
  note_->setText(folder.more ? tr("There are more files: type the name of one that is not listed.") : QString());
}

// What is typed may be a folder, a file that is there, or one that is not: the engine knows.
void FarFileDialog::choose() {
  const QString path = path_->text();
  question_.ask(methods::kListFolder, {path.toStdString()}, [this, path](const Reply<protocol::FolderList>& reply) {
    if (!reply && (!saves_ || reply.error().engineDied)) return note_->setText(asSentence(reply.error().message));
    const QDir folder(reply ? text(reply->path) : QString());
    const bool file = reply && reply->entries.size() == 1 && folder.filePath(text(reply->entries.front().name)) == path;
    if (reply && !file) return fill(*reply);
    if (saves_ && file && agreed_ != path) {
      agreed_ = path;
      return note_->setText(tr("%1 exists. Press Save again to replace it.").arg(QFileInfo(path).fileName()));
    }
    accept();
    use_(placedOn(engine_->host(), path));
  });
}

}  // namespace

void askForFileThere(EngineClient* engine, QWidget* parent, const FileQuestion& question,
                     const std::function<void(const QString& file)>& use, const std::function<void()>& here) {
  if (engine->host().isEmpty()) return here();
  auto* dialog = new FarFileDialog(engine, question, use, parent);
  dialog->offerHere(here);
  dialog->open();
}

}  // namespace normlens::ui
