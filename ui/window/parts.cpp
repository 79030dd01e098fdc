#include "ui/window/parts.h"

#include <QAbstractButton>
#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QSaveFile>
#include <QScrollArea>
#include <QSplitter>
#include <QTableView>

#include "ui/client/placed_file.h"
#include "ui/theme/icons.h"
#include "ui/theme/spoken_role.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/tables.h"

namespace normlens::ui {

namespace {

// "Table (*.csv)" is csv.
QString suffixOf(const QString& filter) { return filter.section(u'.', -1).chopped(1); }

}  // namespace

QLabel* makeNotice(QWidget* parent) {
  QLabel* label = makeWords("faint", parent);
  label->setAlignment(Qt::AlignCenter);
  label->setMargin(16);
  return label;
}

QPushButton* addButton(QBoxLayout* layout, const char* kind, const QString& text, const char* name,
                       const QString& tip) {
  auto* button = describe(makeButton(text, kind, layout->parentWidget()), name, tip);
  layout->addWidget(button);
  return button;
}

void followAction(QAbstractButton* button, QAction* action) {
  button->setObjectName(action->objectName() + QStringLiteral("Button"));
  const auto follow = [button, action] {
    button->setEnabled(action->isEnabled());
    button->setToolTip(action->toolTip());
  };
  follow();
  QObject::connect(button, &QAbstractButton::clicked, action, &QAction::trigger);
  QObject::connect(action, &QAction::changed, button, follow);
}

QSplitter* makeSplitter(Qt::Orientation orientation, QWidget* parent) {
  auto* splitter = new QSplitter(orientation, parent);
  splitter->setHandleWidth(1);
  splitter->setChildrenCollapsible(false);
  return splitter;
}

QScrollArea* makeScrollArea(QWidget* parent, const QString& accessible, Qt::ScrollBarPolicy sideways) {
  auto* area = new QScrollArea(parent);
  setSpokenRole(area, QAccessible::Pane);  // the keyboard scrolls it
  area->setAccessibleName(accessible);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(sideways);
  return area;
}

ThemedIcon::ThemedIcon(const char* name, QColor Theme::*color, const QSize& size, const QRectF& area, QWidget* parent)
    : QWidget(parent), name_(name), color_(color), area_(area) {
  setFixedSize(size);
  setAttribute(Qt::WA_TransparentForMouseEvents);
}

void ThemedIcon::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  paintIcon(painter, area_, QLatin1String(name_), themeOf(this).*color_);
}

void addLeadingIcon(QLineEdit* field, const char* name) {
  constexpr int kExtent = 14, kLeft = 9;
  auto* icon = new ThemedIcon(name, &Theme::textSoft, {kExtent, kExtent}, {0, 0, kExtent, kExtent}, field);
  makeRow(field, 0, {kLeft, 0, 0, 0})->addWidget(icon, 0, Qt::AlignLeft);
  QMargins margins = field->textMargins();
  margins.setLeft(kExtent + 4);
  field->setTextMargins(margins);
}

QTableView* makeTable(const char* name, const QString& accessible, int rowHeight, QAbstractItemModel* model,
                      QWidget* parent, const ExtendMenu& extend) {
  QTableView* table = makeRowTable(QLatin1String(name), accessible, rowHeight, parent);
  makeRowsSelectable(table);
  table->setModel(model);
  addCopyShortcut(table);
  table->setContextMenuPolicy(Qt::CustomContextMenu);
  QObject::connect(table, &QTableView::customContextMenuRequested, table, [table, extend](const QPoint& position) {
    auto* menu = new QMenu(table);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->setObjectName(table->objectName() + QStringLiteral("Menu"));
    if (extend) extend(menu, table->indexAt(position));
    if (!menu->isEmpty()) menu->addSeparator();
    addCopyActions(menu, table);
    menu->popup(table->viewport()->mapToGlobal(position));
  });
  return table;
}

void setColumnWidths(QTableView* table, std::initializer_list<std::pair<int, int>> widths) {
  followText(table, [table, all = std::vector<std::pair<int, int>>(widths)] {
    for (const auto& [column, width] : all) table->horizontalHeader()->resizeSection(column, grown(width));
  });
}

void showRow(QTableView* table, const QModelIndex& at) {
  table->setCurrentIndex(at);
  if (at.isValid()) {
    table->scrollTo(at);
  } else {
    table->clearSelection();
  }
}

namespace {

bool isHere(const QString& folder) { return !folder.isEmpty() && machineOf(folder).isEmpty(); }

QFileDialog* makeFileDialog(QWidget* parent, const FileQuestion& question) {
  auto* dialog = new QFileDialog(parent, question.title);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(question.name);
  dialog->setNameFilters(question.filters);
  if (isHere(question.folder)) dialog->setDirectory(question.folder);
  if (question.suggested.isEmpty()) {
    dialog->setFileMode(QFileDialog::ExistingFile);
  } else {
    const QString suffix = suffixOf(question.filters.front());
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(suffix);
    QObject::connect(dialog, &QFileDialog::filterSelected, dialog,
                     [dialog](const QString& filter) { dialog->setDefaultSuffix(suffixOf(filter)); });
    dialog->selectFile(question.suggested + u'.' + suffix);
  }
  return dialog;
}

}  // namespace

void askForFile(QWidget* parent, const FileQuestion& question, const std::function<void(const QString& path)>& use) {
  QFileDialog* dialog = makeFileDialog(parent, question);
  QObject::connect(dialog, &QFileDialog::fileSelected, parent, use);
  dialog->open();
}

void askForFiles(QWidget* parent, const FileQuestion& question,
                 const std::function<void(const QStringList& paths)>& use) {
  QFileDialog* dialog = makeFileDialog(parent, question);
  dialog->setFileMode(QFileDialog::ExistingFiles);
  QObject::connect(dialog, &QFileDialog::filesSelected, parent, use);
  dialog->open();
}

void askAndWrite(QWidget* parent, const FileQuestion& question, const std::function<bool(const QString& path)>& write,
                 const std::function<void(const QString& problem)>& failed) {
  askForFile(parent, question, [write, failed](const QString& path) {
    if (!write(path)) failed(QFileDialog::tr("%1 could not be written.").arg(path));
  });
}

void askForFolder(QWidget* parent, const FileQuestion& question, const std::function<void(const QString& path)>& use) {
  auto* dialog = new QFileDialog(parent, question.title);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(question.name);
  dialog->setFileMode(QFileDialog::Directory);
  dialog->setOption(QFileDialog::ShowDirsOnly);
  if (isHere(question.folder)) dialog->setDirectory(question.folder);
  QObject::connect(dialog, &QFileDialog::fileSelected, parent, use);
  dialog->open();
}

bool writeFile(const QString& path, const QByteArray& bytes) {
  QSaveFile file(path);
  return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit();
}

QStringList modelFilters() {
  return {QFileDialog::tr("Models (*.pt *.pth *.ts *.jit *.pt2 *.onnx)"), QFileDialog::tr("All files (*)")};
}

QStringList exportFilters(const QString& suffix) {
  QStringList filters{QFileDialog::tr("Models (*.%1)").arg(suffix)};
  if (suffix == QStringLiteral("pt2")) filters << QFileDialog::tr("TorchScript (*.pt)");
  return filters;
}

QString folderOf(const QString& path) {
  const QFileInfo file(path);
  return machineOf(path).isEmpty() ? file.absolutePath() : file.path();
}

}  // namespace normlens::ui
