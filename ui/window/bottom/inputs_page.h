// Edits what the model is run with: the engine's guess, in a table, or arrays from a file.
#pragma once

#include <QStringList>
#include <QWidget>
#include <optional>
#include <vector>

class QLayout;
class QPushButton;
class QTableView;

namespace normlens::ui {

class ElidedLabel;
class InputsModel;
class Session;

class InputsPage final : public QWidget {
  Q_OBJECT

 public:
  InputsPage(Session* session, QWidget* parent);  // session: not owned

  void load();  // .npy or .npz

 private:
  QLayout* buildBar();
  void buildTable();
  void fill();
  void showState();
  void apply();
  void forgetTyped();

  Session* session_;  // Not owned.
  InputsModel* model_;
  QTableView* table_;
  ElidedLabel* state_;
  QPushButton* apply_;
  QPushButton* load_;
  QPushButton* guess_;
  std::vector<QStringList> tried_;  // what the table held when it was last used, until the model ran with it
  std::optional<QString> unused_;   // it did not: why, or empty where it was stopped
};

}  // namespace normlens::ui
