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

int lineHeight() { return QFontMetrics(monoFont(11)).lineSpacing(); }
// Of a box with so many lines, and room for one more.
int heightOf(int lines) { return (lines + 1) * lineHeight() + static_cast<int>(2 * kMargin); }

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
    const int wanted = std::min(box_->height() + hidden * lineHeight(), heightOf(kMostLines));
    box_->setFixedHeight(std::max(box_->height(), wanted));
  });
  connect(copy, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(text()); });
}

void CodeBox::setText(const QString& text) {
  if (text != this->text()) box_->setPlainText(text);
  box_->setFixedHeight(heightOf(std::clamp(static_cast<int>(text.count(u'\n')) + 1, 1, kMostLines)));
}

QString CodeBox::text() const { return box_->toPlainText(); }

}  // namespace normlens::ui
