#include "ui/window/export/code_box.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <algorithm>

#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/icon_button.h"

namespace normlens::ui {

namespace {

constexpr int kMostLines = 16;
constexpr double kMargin = 8;

}  // namespace

CodeBox::CodeBox(const char* name, const QString& title, QWidget* parent) : QWidget(parent) {
  setObjectName(QLatin1String(name));
  auto* column = makeColumn(this, 4);
  auto* head = makeRow(nullptr, 8);
  head->addWidget(makeLabel(title, "section", this), 1);
  auto* copy = new IconButton(QStringLiteral("copy"), {}, tr("Copy: %1").arg(title), this);
  copy->setObjectName(QLatin1String(name) + QStringLiteral("Copy"));
  head->addWidget(copy);
  column->addLayout(head);
  box_ = new QPlainTextEdit(this);
  box_->setObjectName(QLatin1String(name) + QStringLiteral("Text"));
  box_->setAccessibleName(title);
  box_->setReadOnly(true);
  box_->setTabChangesFocus(true);
  box_->setProperty("kind", "code");
  box_->document()->setDocumentMargin(kMargin);
  column->addWidget(box_);
  // Lines that are wrapped need others; the range of the bar is in lines.
  connect(box_->verticalScrollBar(), &QScrollBar::rangeChanged, this, [this](int, int hidden) {
    const int line = QFontMetrics(monoFont(11)).lineSpacing(),
              most = (kMostLines + 1) * line + static_cast<int>(2 * kMargin);
    box_->setFixedHeight(std::max(box_->height(), std::min(box_->height() + hidden * line, most)));
  });
  connect(copy, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(text()); });
}

void CodeBox::setText(const QString& text) {
  if (text != this->text()) box_->setPlainText(text);
  const int lines = std::clamp(static_cast<int>(text.count(u'\n')) + 1, 1, kMostLines);
  box_->setFixedHeight((lines + 1) * QFontMetrics(monoFont(11)).lineSpacing() + static_cast<int>(2 * kMargin));
}

QString CodeBox::text() const { return box_->toPlainText(); }

}  // namespace normlens::ui
