// The atlas: which architectures of transformers and timm fold, a table beside the numbers of the papers. It shows what
// was found when it was made (resources/reference/atlas.json), and needs no engine.
#pragma once

#include "ui/window/learn/figures_page.h"

class QLabel;
class QLineEdit;

namespace normlens::ui {

class AtlasFilter;
class AtlasTable;
class PropertyList;

class AtlasPage final : public FiguresPage {
  Q_OBJECT

 public:
  AtlasPage(Session* session, QWidget* parent);  // not owned

 private:
  QWidget* makeFigures();
  QLayout* makeFilters(QWidget* parent);
  QWidget* makeDetails(QWidget* side);
  void showTotals();
  void showChosen();
  void showProblem(const QString& /*problem*/) override {}

  AtlasTable* table_;
  AtlasFilter* filter_;
  QStringList groups_;  // as the list has them
  QLineEdit* words_ = nullptr;
  QLabel *totals_ = nullptr, *name_ = nullptr, *made_ = nullptr, *reason_ = nullptr, *note_ = nullptr;
  QLabel* foldable_ = nullptr;
  PropertyList* counts_ = nullptr;
};

}  // namespace normlens::ui
