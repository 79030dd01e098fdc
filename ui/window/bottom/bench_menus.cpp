// BenchPage: what is laid beside a measurement, and what is taken out of it.
#include <QActionGroup>
#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenu>
#include <QPushButton>
#include <QTableView>
#include <functional>

#include "ui/charts/chart_view.h"
#include "ui/models/bench_export.h"
#include "ui/models/bench_table.h"
#include "ui/models/table_text.h"
#include "ui/session/session.h"
#include "ui/session/words/bench_text.h"
#include "ui/widgets/plots/picture_file.h"
#include "ui/window/bottom/bench_page.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

QAction* addChoice(QMenu* menu, QActionGroup* group, const QString& words, int data) {
  QAction* action = menu->addAction(words);
  action->setCheckable(true);
  action->setData(data);
  group->addAction(action);
  return action;
}

}  // namespace

void BenchPage::buildBesideMenu() {
  auto* menu = new QMenu(beside_);
  menu->setToolTipsVisible(true);
  earlierMenu_ = menu->addMenu(tr("Earlier measurement"));
  earlierGroup_ = new QActionGroup(this);
  paperMenu_ = menu->addMenu(tr("Figures of the papers"));
  paperMenu_->setToolTipsVisible(true);
  paperGroup_ = new QActionGroup(this);
  addChoice(paperMenu_, paperGroup_, tr("None"), -1)->setChecked(true);
  for (int i = 0; i < figuresOfPapers_.series.size(); ++i) {
    const PaperSeries& series = figuresOfPapers_.series[i];
    QAction* action = addChoice(paperMenu_, paperGroup_, series.label, i);
    action->setToolTip(tr("Speed-up over %1, from the %2.").arg(series.over, series.source));
  }
  connect(paperGroup_, &QActionGroup::triggered, this, &BenchPage::showResult);
  connect(earlierGroup_, &QActionGroup::triggered, this, &BenchPage::showResult);
  beside_->setMenu(menu);
}

void BenchPage::showBeside() {
  const bool overlaid = earlier() != nullptr;
  earlierMenu_->clear();
  const auto& runs = session_->measurements()->earlier();
  addChoice(earlierMenu_, earlierGroup_, tr("None"), -1)->setChecked(true);
  for (size_t i = 0; i < runs.size(); ++i) {
    QAction* action = addChoice(earlierMenu_, earlierGroup_, runName(runs[i]), static_cast<int>(i));
    if (overlaid && i == 0) action->setChecked(true);  // a new measurement is laid over the one before
  }
  earlierMenu_->setEnabled(!runs.empty());
}

void BenchPage::buildExportMenu() {
  auto* menu = new QMenu(export_);
  const auto add = [&](const QString& words, const char* name, const std::function<void()>& run) {
    QAction* action = menu->addAction(words);
    action->setObjectName(QLatin1String(name));
    connect(action, &QAction::triggered, this, run);
  };
  add(tr("Chart as picture…"), "benchSavePicture", [this] {
    askWhere(tr("Save the chart"), "benchPictureDialog", pictureFilters(),
             [this](const QString& path) { return chart_->savePicture(path); });
  });
  add(tr("Figures as CSV…"), "benchSaveCsv", [this] {
    askWhere(tr("Save the figures"), "benchCsvDialog", {tr("Table (*.csv)")}, [this](const QString& path) {
      return result() && writeFile(path, benchCsv(*result(), paper()).toUtf8());
    });
  });
  add(tr("Everything as JSON…"), "benchSaveJson", [this] {
    askWhere(tr("Save the measurement"), "benchJsonDialog", {tr("JSON (*.json)")},
             [this](const QString& path) { return result() && writeFile(path, benchJson(*result())); });
  });
  add(tr("Copy as Markdown"), "benchCopyMarkdown", [this] {
    if (!result()) return;
    const QString table = tableText(*points_, allRows(*points_), TableFormat::Markdown);
    QGuiApplication::clipboard()->setText(table + benchNotes(*result(), paper()));
  });
  add(tr("Copy as LaTeX"), "benchCopyLatex", [this] {
    if (result()) QGuiApplication::clipboard()->setText(tableText(*points_, allRows(*points_), TableFormat::Latex));
  });
  export_->setMenu(menu);
}

void BenchPage::askWhere(const QString& title, const char* name, const QStringList& filters,
                         const std::function<bool(const QString& path)>& write) {
  const FileQuestion question{QLatin1String(name), title, filters, folderOf(session_->path()),
                              QFileInfo(session_->path()).completeBaseName() + QStringLiteral("_bench")};
  askAndWrite(this, question, write, [this](const QString& problem) { Q_EMIT session_->problem(problem, {}); });
}

}  // namespace normlens::ui
