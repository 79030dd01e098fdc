// The frame of the laboratory and of the geometry probe: the bar above, settings over a foot of buttons at the left, at
// the right figures over their table; both can be written to files.
#pragma once

#include <QWidget>
#include <functional>

class QAbstractItemModel;
class QTableView;

namespace normlens::ui {

class LearnBar;
class Session;
enum class LearnPageKind;

class FiguresPage : public QWidget {
  Q_OBJECT

 Q_SIGNALS:
  void closed();
  void pageWanted(normlens::ui::LearnPageKind page);

 protected:
  FiguresPage(LearnPageKind kind, Session* session, QWidget* parent);  // session: not owned

  // Makes the column at the left, `width` wide. The two functions are given the parent of what they make.
  using MakePart = std::function<QWidget*(QWidget* parent)>;
  [[nodiscard]] QWidget* makeSide(int width, const MakePart& controls, const MakePart& foot);
  void fill(QWidget* side, QWidget* figures);  // once

  // These ask for a file, `suggested` without a suffix, and show problem() where it could not be written.
  void save(const char* name, const QString& title, const QStringList& filters, const QString& suggested,
            const std::function<bool(const QString& path)>& write);
  void saveTable(const char* name, const QString& title, const QString& suggested, const QAbstractItemModel* table);
  void savePicture(const char* name, const QString& suggested, const QWidget* figures,
                   const std::function<void(QPainter& painter)>& paint);
  virtual void showProblem(const QString& problem) = 0;
  virtual void leave() { Q_EMIT closed(); }  // Esc
  void keyPressEvent(QKeyEvent* event) override;

  Session* session_;
  LearnBar* bar_;
  QTableView* view_ = nullptr;
};

}  // namespace normlens::ui
