#include "ui/window/learn/figures_page.h"

#include <QKeyEvent>
#include <QPainter>
#include <QScrollArea>

#include "ui/models/table_text.h"
#include "ui/session/session.h"
#include "ui/theme/spoken_role.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/plots/picture_file.h"
#include "ui/window/learn/learn_bar.h"
#include "ui/window/parts.h"

namespace normlens::ui {

FiguresPage::FiguresPage(LearnPageKind kind, Session* session, QWidget* parent)
    : QWidget(parent), session_(session), bar_(new LearnBar(kind, this)) {
  setSpokenRole(this, QAccessible::Pane);
  setAccessibleName(bar_->accessibleName());
  setFocusPolicy(Qt::StrongFocus);
  connect(bar_, &LearnBar::closed, this, &FiguresPage::closed);
  connect(bar_, &LearnBar::pageWanted, this, &FiguresPage::pageWanted);
}

QWidget* FiguresPage::makeSide(int width, const MakePart& controls, const MakePart& foot) {
  auto* side = describe(new QFrame(this), "lessonColumn");
  setTextWidth(side, width);
  auto* column = makeColumn(side);
  auto* area = makeScrollArea(side, tr("Settings"), Qt::ScrollBarAlwaysOff);
  area->setWidget(controls(area));
  column->addWidget(area, 1);
  column->addWidget(foot(side));
  return side;
}

void FiguresPage::fill(QWidget* side, QWidget* figures) {
  auto* column = makeColumn(this);
  column->addWidget(bar_);
  auto* body = makeRow(nullptr);
  body->addWidget(side);
  body->addWidget(figures, 1);
  column->addLayout(body, 1);
}

void FiguresPage::save(const char* name, const QString& title, const QStringList& filters, const QString& suggested,
                       const std::function<bool(const QString& path)>& write) {
  const FileQuestion question{QLatin1String(name), title, filters, folderOf(session_->path()), suggested};
  askAndWrite(this, question, write, [this](const QString& problem) { showProblem(problem); });
}

void FiguresPage::saveTable(const char* name, const QString& title, const QString& suggested,
                            const QAbstractItemModel* table) {
  save(name, title, {tr("Tables (*.csv)")}, suggested, [table](const QString& path) {
    return writeFile(path, tableText(*table, allRows(*table), TableFormat::Csv).toUtf8());
  });
}

void FiguresPage::savePicture(const char* name, const QString& suggested, const QWidget* figures,
                              const std::function<void(QPainter& painter)>& paint) {
  const QStringList filters{tr("PNG (*.png)"), tr("SVG (*.svg)"), tr("PDF (*.pdf)")};
  save(name, tr("Save the charts"), filters, suggested, [this, figures, paint](const QString& path) {
    return writePicture(path, figures->size(), themeOf(this).canvas, paint);
  });
}

void FiguresPage::keyPressEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Escape) return QWidget::keyPressEvent(event);
  leave();
}

}  // namespace normlens::ui
