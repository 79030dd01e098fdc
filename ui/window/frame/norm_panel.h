// The left dock: Norms (filter and list by verdict) and Modules (tree), the legend below.
#pragma once

#include <QFrame>

class QLabel;
class QStackedWidget;
class QTabBar;
class QTreeView;

namespace normlens::ui {

class NormFilter;
class NormModel;
class ScopeModel;
class Session;

class NormPanel final : public QFrame {
  Q_OBJECT

 public:
  NormPanel(Session* session, QWidget* parent);  // session: not owned

  void showNorms();
  void showModules();
  void revealScope(int scope);  // in the module tree, without a signal

 Q_SIGNALS:
  void scopeChosen(int scope);
  void tableWanted();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* makeNormPage();
  QWidget* makeModulePage();
  void fillNorms();
  void fillModules();
  void showPlan();
  void followSelection();
  void chooseNorm(const QModelIndex& index);

  Session* session_;  // Not owned.
  QTabBar* tabs_;
  QWidget* legend_ = nullptr;
  QStackedWidget* pages_;
  QLabel* shared_;  // what all names share
  QTreeView* norms_;
  QTreeView* modules_;
  NormModel* normModel_;
  NormFilter* filter_;
  ScopeModel* scopeModel_;
  bool following_ = false;  // the list follows the selection, it does not make one
};

}  // namespace normlens::ui
