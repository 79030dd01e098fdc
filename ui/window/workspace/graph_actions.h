// The QActions with which menus change the graph's view: which groups are open, which way it runs, what is left out,
// back and forward, pictures.
#pragma once

#include <QAction>
#include <QMenu>
#include <QObject>

namespace normlens::graphview {
class GraphView;
}

namespace normlens::ui {

class GraphActions final : public QObject {
  Q_OBJECT

 public:
  GraphActions(graphview::GraphView* view, QWidget* parent);  // view: not owned

  QAction* back;
  QAction* forward;
  QAction* beforeAfter;  // the other of both pictures
  QAction* goToBlocker;  // Goes to the chosen norm's blocker.
  QAction* leftToRight;
  QAction* showHelpers;
  QAction* foldRepeats;
  QAction* expandAll;
  QAction* collapseAll;
  QAction* resetGroups;
  QAction* fit;
  QAction* keys;
  QAction* saveView;  // opens a file dialog: see pictureWanted
  QAction* saveWhole;
  QMenu* menu;  // all of them

  [[nodiscard]] QList<QAction*> all() const;

  // Direction and what is left out, to and from QSettings.
  void save() const;
  void restore();

 Q_SIGNALS:
  void pictureWanted(bool whole);

 private:
  [[nodiscard]] QAction* add(const QString& name, const QString& text, const QKeySequence& shown,
                             const QString& tip) const;
  QAction* addSwitch(const QString& name, const QString& text, const QString& tip);
  void addDepths();
  void apply();

  graphview::GraphView* view_;  // Not owned.
};

}  // namespace normlens::ui
