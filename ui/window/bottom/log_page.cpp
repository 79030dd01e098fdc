#include "ui/window/bottom/log_page.h"

#include <QTime>

#include "ui/theme/theme.h"

namespace normlens::ui {

LogPage::LogPage(QWidget* parent) : QPlainTextEdit(parent) {
  setObjectName(QStringLiteral("log"));
  setAccessibleName(tr("Log"));
  setReadOnly(true);
  setMaximumBlockCount(5000);
  setFont(monoFont(11));
  setTabChangesFocus(true);
  document()->setDocumentMargin(12);
  setPlaceholderText(tr("Nothing said yet."));
}

void LogPage::add(const QString& line) {
  appendPlainText(QStringLiteral("%1  %2").arg(QTime::currentTime().toString(QStringLiteral("HH:mm:ss")), line));
}

}  // namespace normlens::ui
