// Measurements: what is measured on top, then the charts, live while one runs, and the figures of one point.
#pragma once

#include <QWidget>
#include <functional>
#include <optional>

#include "core/protocol/bench_messages.h"
#include "ui/charts/bench_charts.h"

class QActionGroup;
class QButtonGroup;
class QComboBox;
class QLabel;
class QMenu;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace normlens::ui {

class BenchBar;
class BenchFigures;
class BenchTable;
class ChartView;
class Session;

class BenchPage final : public QWidget {
  Q_OBJECT

 public:
  BenchPage(Session* session, QWidget* parent);  // session: not owned

  [[nodiscard]] ChartView* chart() const { return chart_; }

 protected:
  void changeEvent(QEvent* event) override;  // the theme

 private:
  void buildBar();
  QWidget* buildKinds();
  QWidget* buildMiddle();
  QWidget* buildFigures();
  void buildBesideMenu();
  void buildExportMenu();

  void showResult();
  void showPoints();
  void showChart();
  void showWords();
  [[nodiscard]] const protocol::BenchPoint* shownPoint() const;              // nullptr: none
  void showBeside();                                                         // the menu's entries
  [[nodiscard]] const std::optional<protocol::BenchResult>& result() const;  // the one under way, else the last
  [[nodiscard]] std::optional<PaperSeries> paper() const;
  [[nodiscard]] const protocol::BenchResult* earlier() const;
  [[nodiscard]] QString emptyText() const;
  [[nodiscard]] QString noteOf(const protocol::BenchPoint& point) const;
  void askWhere(const QString& title, const char* name, const QStringList& filters,
                const std::function<bool(const QString& path)>& write);

  Session* session_;  // Not owned.
  PaperFigures figuresOfPapers_;
  BenchBar* bar_;
  QPushButton *beside_, *export_;
  QMenu *earlierMenu_, *paperMenu_;
  QActionGroup *earlierGroup_, *paperGroup_;
  QButtonGroup* kinds_;
  QStackedWidget* middle_;
  ChartView* chart_;
  QTableView* table_;
  QLabel* empty_;
  QComboBox* point_;
  QLabel* note_;
  QTableView* figuresTable_;
  BenchTable* points_;
  BenchFigures* figures_;
  bool following_ = true;  // the point that is measured now is looked at
};

}  // namespace normlens::ui
