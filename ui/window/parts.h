// Makes the parts of the window's pages, beyond ui/widgets: tables that can be copied,
// icons, and file dialogs. Parents own what is made. Thread: GUI thread.
#pragma once

#include <functional>
#include <utility>

#include "ui/widgets/frames.h"

class QAbstractButton;
class QAbstractItemModel;
class QAction;
class QLineEdit;
class QMenu;
class QModelIndex;
class QScrollArea;
class QSplitter;
class QTableView;

namespace normlens::ui {

struct Theme;

// Makes the text in the middle of a page that has nothing to show.
[[nodiscard]] QLabel* makeNotice(QWidget* parent);
// Adds a button behind what the layout holds; the layout's widget is the parent.
QPushButton* addButton(QBoxLayout* layout, const char* kind, const QString& text, const char* name, const QString& tip);
// The button does what the action does, and can be pressed while the action is enabled.
void followAction(QAbstractButton* button, QAction* action);
// A splitter with a hairline for a handle, whose parts cannot be pushed away.
[[nodiscard]] QSplitter* makeSplitter(Qt::Orientation orientation, QWidget* parent);

// Without a frame, for a widget that gets as wide as the area.
[[nodiscard]] QScrollArea* makeScrollArea(QWidget* parent, const QString& accessible,
                                          Qt::ScrollBarPolicy sideways = Qt::ScrollBarAsNeeded);

// An icon in a color of the theme.
class ThemedIcon final : public QWidget {
 public:
  // area: where in the widget, which has the size `size`, the icon is painted.
  ThemedIcon(const char* name, QColor Theme::*color, const QSize& size, const QRectF& area, QWidget* parent);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const char* name_;
  QColor Theme::*color_;
  QRectF area_;
};

// Adds an icon at the left in the field, before its words.
void addLeadingIcon(QLineEdit* field, const char* name);

// A table of whole rows that are chosen, not written in. Ctrl+C and the context menu copy them; `extend` puts what else
// there is before that, for the row at the pointer.
using ExtendMenu = std::function<void(QMenu* menu, const QModelIndex& at)>;
[[nodiscard]] QTableView* makeTable(const char* name, const QString& accessible, int rowHeight,
                                    QAbstractItemModel* model, QWidget* parent, const ExtendMenu& extend = {});
// Column, pixels at the usual size of text; the table has its model.
void setColumnWidths(QTableView* table, std::initializer_list<std::pair<int, int>> widths);
// Makes it the current row, or none, and shows it.
void showRow(QTableView* table, const QModelIndex& at);

// A file to open, or to write where one is suggested.
struct FileQuestion {
  QString name;  // The dialog's.
  QString title;
  QStringList filters;  // in the dialog's own form; the suffix that is added when writing is that of the chosen one
  QString folder;
  QString suggested = {};  // without a suffix
};
// Opens a dialog that is not modal to the program; `use` is called if the user chose a file.
void askForFile(QWidget* parent, const FileQuestion& question, const std::function<void(const QString& path)>& use);
// The same for one or several files to open.
void askForFiles(QWidget* parent, const FileQuestion& question,
                 const std::function<void(const QStringList& paths)>& use);
// The same where a file is to be written; `failed` is given a sentence where it was not.
void askAndWrite(QWidget* parent, const FileQuestion& question, const std::function<bool(const QString& path)>& write,
                 const std::function<void(const QString& problem)>& failed);
// The same for a folder that is there.
void askForFolder(QWidget* parent, const FileQuestion& question, const std::function<void(const QString& path)>& use);
// All of it or nothing. False: it could not be written.
[[nodiscard]] bool writeFile(const QString& path, const QByteArray& bytes);
[[nodiscard]] QStringList modelFilters();
// Returns filters for what is made of a model with this suffix: a torch.export archive may become TorchScript.
[[nodiscard]] QStringList exportFilters(const QString& suffix);
[[nodiscard]] QString folderOf(const QString& path);

}  // namespace normlens::ui
