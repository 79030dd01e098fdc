#include "ui/window/bottom/learn_page.h"

#include <QDir>
#include <QFile>
#include <QListWidget>
#include <QPushButton>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextCursor>
#include <QUrl>

#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/window/parts.h"

namespace normlens::ui {
namespace {

constexpr int kTitlesHeight = 196, kLeastHeight = 72;
constexpr int kParagraphGap = 8;
constexpr int kLineHeight = 125;  // percent
constexpr int kNameRole = Qt::UserRole;
constexpr int kTextRole = Qt::UserRole + 1;

QString folder() { return QStringLiteral(":/normlens/words/"); }

// "06_gamma_beta.md" is gamma_beta.
QString nameOf(const QString& file) { return file.section(u'_', 1).chopped(3); }

QString textOf(const QString& file) {
  QFile lesson(folder() + file);
  return lesson.open(QIODevice::ReadOnly) ? QString::fromUtf8(lesson.readAll()) : QString();
}

// Markdown comes without distances, and with headings twice as large as any other title of the window.
void setOut(QTextDocument& document) {
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    QTextCursor cursor(block);
    QTextBlockFormat format = block.blockFormat();
    format.setBottomMargin(kParagraphGap);
    format.setLineHeight(kLineHeight, QTextBlockFormat::ProportionalHeight);
    cursor.setBlockFormat(format);
    if (format.headingLevel() == 0) continue;
    cursor.select(QTextCursor::BlockUnderCursor);
    QTextCharFormat heading;
    heading.setFont(uiFont(15, QFont::DemiBold));
    heading.clearProperty(QTextFormat::FontSizeAdjustment);
    cursor.setCharFormat(heading);
  }
}

}  // namespace

LearnPage::LearnPage(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("learn"));
  auto* column = makeColumn(this);
  titles_ = describe(new QListWidget(this), "lessons", tr("The words of this program, one page each."), tr("Lessons"));
  titles_->setFrameShape(QFrame::NoFrame);
  text_ = describe(new QTextBrowser(this), "lessonText", {}, tr("Lesson"));
  text_->setFrameShape(QFrame::NoFrame);
  text_->setOpenLinks(false);
  text_->document()->setDocumentMargin(16);
  // In a low window the text keeps its share: the list scrolls.
  followText(titles_, [this] {
    titles_->setMinimumHeight(grown(kLeastHeight));
    titles_->setMaximumHeight(grown(kTitlesHeight));
    text_->setMinimumHeight(grown(kLeastHeight));
  });
  column->addWidget(titles_, 1);
  column->addWidget(makeLine(Qt::Horizontal, this));
  column->addWidget(text_, 2);
  auto* foot = makeRow(nullptr, 0, {10, 6, 10, 6});
  QPushButton* all = addButton(foot, "link", tr("All lessons (Ctrl+1)"), "allLessons",
                               tr("Open the lessons: the same in interactive figures."));
  connect(all, &QPushButton::clicked, this, [this] { Q_EMIT lessonWanted({}); });
  foot->addStretch(1);
  column->addLayout(foot);
  connect(text_, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) { Q_EMIT lessonWanted(link.path()); });
  connect(titles_, &QListWidget::currentRowChanged, this, &LearnPage::read);
  fill();
}

void LearnPage::fill() {
  for (const QString& file : QDir(folder()).entryList({QStringLiteral("*.md")}, QDir::Files, QDir::Name)) {
    const QString markdown = textOf(file);
    auto* item = new QListWidgetItem(markdown.section(u'\n', 0, 0).mid(2), titles_);  // "# Title"
    item->setData(kNameRole, nameOf(file));
    item->setData(kTextRole, markdown);
  }
  titles_->setCurrentRow(0);
}

void LearnPage::read() {
  const QListWidgetItem* item = titles_->currentItem();
  text_->setMarkdown(item != nullptr ? item->data(kTextRole).toString() : QString());
  setOut(*text_->document());
}

void LearnPage::showLesson(const QString& name) {
  for (int row = 0; row < titles_->count(); ++row) {
    if (titles_->item(row)->data(kNameRole).toString() == name) return titles_->setCurrentRow(row);
  }
  titles_->setCurrentRow(0);
}

QString LearnPage::lesson() const {
  const QListWidgetItem* item = titles_->currentItem();
  return item != nullptr ? item->data(kNameRole).toString() : QString();
}

}  // namespace normlens::ui
