#include "ui/window/frame/norm_panel.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QLineEdit>
#include <QPainter>
#include <QScrollBar>
#include <QStackedWidget>
#include <QStyledItemDelegate>
#include <QTabBar>
#include <QTimer>
#include <QTreeView>
#include <QWidget>

#include "ui/models/norm_model.h"
#include "ui/models/scope_model.h"
#include "ui/models/search/norm_filter.h"
#include "ui/session/session.h"
#include "ui/theme/class_mark.h"
#include "ui/theme/icons.h"
#include "ui/theme/mark_color.h"
#include "ui/theme/theme.h"
#include "ui/widgets/delegates/row_delegate.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/lesson_link.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

// The vertex classes with letter, shape, color and word, in two columns; each with a sentence as its tooltip.
//
// One class mark with its word beside it.
class LegendEntry final : public QWidget {
 public:
  LegendEntry(QChar letter, QWidget* parent) : QWidget(parent), letter_(letter) {
    explain(this, classMeaning(letter), letter == u'A' ? "auxiliary" : "zero_mean_graph");
    setAccessibleName(QStringLiteral("%1: %2").arg(letter).arg(classWord(letter)));
    setAccessibleDescription(classMeaning(letter));
  }
  [[nodiscard]] QSize sizeHint() const override {
    return {26 + QFontMetrics(uiFont(12)).horizontalAdvance(classWord(letter_)), grown(24)};
  }
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = themeOf(this);
    QPainter painter(this);
    paintClassMark(painter, QRectF(2, (height() - 15) / 2.0, 15, 15), letter_, theme);
    painter.setFont(uiFont(12));
    painter.setPen(theme.text);
    painter.drawText(QRect(26, 0, width() - 26, height()), Qt::AlignVCenter | Qt::AlignLeft, classWord(letter_));
  }

 private:
  QChar letter_;
};

class Legend final : public QWidget {
 public:
  explicit Legend(QWidget* parent = nullptr) : QWidget(parent) {
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(12, 8, 12, 8);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(0);
    grid->addWidget(makeLabel(tr("Legend"), "section", this), 0, 0, 1, 2);
    const QString column[] = {QStringLiteral("LBSRZ"), QStringLiteral("OANM")};
    for (int c = 0; c < 2; ++c) {
      for (int r = 0; r < column[c].size(); ++r) grid->addWidget(new LegendEntry(column[c][r], this), r + 1, c);
      grid->setColumnStretch(c, 1);
    }
  }
};

constexpr int kNormRow = 24, kTextLeft = 46, kIconLeft = 26, kRight = 12, kReasonBottom = 6, kSquare = 20;

Verdict verdictOf(const QModelIndex& index) { return static_cast<Verdict>(index.data(NormModel::VerdictRole).toInt()); }

// "transformer.h.3." quiet and "ln_2" strong; over several lines one is as strong as the other.
void paintName(QPainter& painter, const QRect& area, const QString& name, const Theme& theme, bool strong) {
  qsizetype end = 1 + qMax(name.lastIndexOf(u'.'), name.lastIndexOf(u'/'));
  const bool number = std::all_of(name.begin() + end, name.end(), [](QChar letter) { return letter.isDigit(); });
  if (number && end > 1) end = 1 + name.lastIndexOf(u'.', end - 2);  // "Div.28"
  const int lead = area.height() > grown(kNormRow) ? 0 : static_cast<int>(end);
  painter.setFont(uiFont(12));
  painter.setPen(theme.textSoft);
  painter.drawText(area, Qt::AlignVCenter | Qt::AlignLeft, name.left(lead));
  const int taken = painter.fontMetrics().horizontalAdvance(name.left(lead));
  painter.setFont(uiFont(12, strong ? QFont::DemiBold : QFont::Medium));
  painter.setPen(theme.text);
  painter.drawText(area.adjusted(taken, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft | Qt::TextWordWrap,
                   withNameBreaks(name.mid(lead), 0));
}

// Paints the norm list: group rows with the verdict's ring, title, count and what the plan does with them; norm rows
// with the ring, the name (its last part strong) and at the right the plan's square, or before there is a plan the
// width; under the current norm the reason.
class NormDelegate final : public QStyledItemDelegate {
 public:
  // view: not owned, the parent
  explicit NormDelegate(QTreeView* view) : QStyledItemDelegate(view), view_(view) { view->installEventFilter(this); }

  // Names and reasons are wrapped by the width.
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (watched != view_) return QStyledItemDelegate::eventFilter(watched, event);
    if (event->type() == QEvent::Resize) Q_EMIT sizeHintChanged({});
    return false;
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (index.data(NormModel::IsGroupRole).toBool()) {
      paintGroup(*painter, wholeRow(option.rect), index);
    } else {
      paintNorm(*painter, option, index);
    }
    painter->restore();
  }
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
    if (index.data(NormModel::IsGroupRole).toBool()) return {100, grown(27)};
    const bool current = index == view_->currentIndex();
    return {100, nameHeight(index) + (current ? reasonHeight(index.data(NormModel::ReasonRole).toString()) : 0)};
  }
  // The current row changed: the rows before and after it change height.
  void currentChanged(const QModelIndex& now, const QModelIndex& before) {
    if (before.isValid()) Q_EMIT sizeHintChanged(before);
    if (now.isValid()) Q_EMIT sizeHintChanged(now);
  }

 private:
  void paintGroup(QPainter& painter, const QRect& row, const QModelIndex& index) const {
    const Theme theme = themeOf(view_);
    const Verdict verdict = verdictOf(index);
    const bool open = view_->isExpanded(index);
    const double middle = row.center().y() + 0.5;
    paintIcon(painter, QRectF(row.left() + 10, middle - 6, 12, 12),
              open ? QStringLiteral("chevron_down") : QStringLiteral("chevron_right"), theme.textSoft);
    const int count = index.data(NormModel::CountRole).toInt();
    paintIcon(painter, QRectF(row.left() + 28, middle - 8, 16, 16),
              verdictIcon(verdict, index.data(NormModel::EarlyRole).toBool()),
              count > 0 ? verdictColor(verdict, theme) : theme.textSoft);
    const QFont titleFont = uiFont(13, QFont::DemiBold), countFont = uiFont(12, QFont::Medium);
    const QString title = index.data().toString(), counted = QString::number(count);
    painter.setFont(titleFont);
    painter.setPen(theme.text);
    painter.drawText(row.adjusted(52, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, title);
    int left = 52 + QFontMetrics(titleFont).horizontalAdvance(title) + 8;
    painter.setFont(countFont);
    painter.setPen(theme.textSoft);
    painter.drawText(row.adjusted(left, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, counted);
    left += QFontMetrics(countFont).horizontalAdvance(counted) + 10;
    const QString shared = index.data(NormModel::SharedRole).toString();
    const QFontMetrics metrics(countFont);
    const int right = row.right() - kRight - 2;
    painter.drawText(row.adjusted(left, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                     metrics.elidedText(shared, Qt::ElideLeft, right - left));
    if (!shared.isEmpty()) left += metrics.horizontalAdvance(shared) + 10;
    const QRect rest(left, row.top(), right - left, row.height());
    // All of it or nothing: the rows say it one by one, and the tooltip.
    const QString plan = index.data(NormModel::PlanWordRole).toString();
    if (metrics.horizontalAdvance(plan) <= rest.width())
      painter.drawText(rest, Qt::AlignVCenter | Qt::AlignRight, plan);
  }
  void paintNorm(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const Theme theme = themeOf(view_);
    const QRect row = wholeRow(option.rect);
    const bool current = index == view_->currentIndex();
    if (current || (option.state & QStyle::State_MouseOver)) {
      painter.setPen(Qt::NoPen);
      painter.setBrush(current ? theme.selection : theme.hover);
      painter.drawRoundedRect(QRectF(row).adjusted(8, 0.5, -6, -0.5), 4, 4);
    }
    if (current) {
      painter.setBrush(theme.accentText);
      painter.drawRoundedRect(QRectF(row.left() + 6, row.top() + 4, 3, row.height() - 8), 1.5, 1.5);
    }
    const int height = nameHeight(index);
    const QRect line(row.left(), row.top(), row.width(), height);
    const Verdict verdict = verdictOf(index);
    paintIcon(painter, QRectF(line.left() + kIconLeft + 2, line.center().y() - 6.5, 14, 14),
              verdictIcon(verdict, index.data(NormModel::EarlyRole).toBool()), verdictColor(verdict, theme));
    const auto state = static_cast<PlanState>(index.data(NormModel::PlanRole).toInt());
    const QString name = index.data().toString();
    int right = kRight;
    if (state != PlanState::Unknown) {
      // The square alone says the state: a word would push names out. It is in the tooltip, the table and the
      // inspector.
      paintIcon(painter, QRectF(line.right() - kRight - 13, line.center().y() - 6.5, 14, 14), planIcon(state),
                planColor(state, theme));
      right += kSquare;
    } else {
      const QFont font = uiFont(11);
      const QString width = index.data(NormModel::WidthRole).toString();
      const int taken = QFontMetrics(font).horizontalAdvance(width) + 8;
      const int nameWidth = QFontMetrics(uiFont(12, QFont::DemiBold)).horizontalAdvance(name);
      if (kTextLeft + 4 + nameWidth + taken + right <= line.width()) {
        painter.setFont(font);
        painter.setPen(theme.textSoft);
        painter.drawText(line.adjusted(0, 0, -right, 0), Qt::AlignVCenter | Qt::AlignRight, width);
        right += taken;
      }
    }
    paintName(painter, line.adjusted(kTextLeft + 4, 0, -right, 0), name, theme, current);
    if (!current) return;
    painter.setFont(uiFont(11));
    painter.setPen(theme.text);
    painter.drawText(QRect(kTextLeft + 4, row.top() + height - 1, reasonWidth(), row.height() - height),
                     Qt::TextWordWrap | Qt::AlignTop, withNameBreaks(index.data(NormModel::ReasonRole).toString()));
  }
  // A name is never cut: it takes as many lines as it needs beside the plan's square.
  [[nodiscard]] int nameHeight(const QModelIndex& index) const {
    const QFontMetrics metrics(uiFont(12, QFont::DemiBold));
    const QRect room(0, 0, reasonWidth() - kRight - kSquare, 10000);
    const int lines =
        metrics.boundingRect(room, Qt::TextWordWrap, withNameBreaks(index.data().toString(), 0)).height() /
        metrics.lineSpacing();
    return grown(kNormRow) + (qMax(1, lines) - 1) * metrics.lineSpacing();
  }
  // Leaves room for the scroll bar, so that its coming and going does not change the height.
  [[nodiscard]] int reasonWidth() const {
    return qMax(60, view_->width() - view_->verticalScrollBar()->sizeHint().width() - kTextLeft - 4 - kRight / 2);
  }
  [[nodiscard]] int reasonHeight(const QString& reason) const {
    if (reason.isEmpty()) return 0;
    const QRect room(0, 0, reasonWidth(), 10000);
    return QFontMetrics(uiFont(11)).boundingRect(room, Qt::TextWordWrap, withNameBreaks(reason)).height() +
           kReasonBottom;
  }
  [[nodiscard]] QRect wholeRow(const QRect& item) const {
    return {0, item.top(), view_->viewport()->width(), item.height()};
  }

  QTreeView* view_;  // Not owned.
};

constexpr int kLeastTree = 26;  // an own size: Qt's least would keep windows from being as low as a small screen

QTreeView* makeTree(const char* name, const QString& accessible, QAbstractItemModel* model, QWidget* parent) {
  auto* view = describe(new QTreeView(parent), name, {}, accessible);
  view->setModel(model);
  view->setHeaderHidden(true);
  view->setMouseTracking(true);
  view->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  view->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  view->setFrameShape(QFrame::NoFrame);
  view->setMinimumHeight(kLeastTree);
  return view;
}

constexpr int kLegendFrom = 340;

}  // namespace

NormPanel::NormPanel(Session* session, QWidget* parent)
    : QFrame(parent),
      session_(session),
      normModel_(new NormModel(this)),
      filter_(new NormFilter(this)),
      scopeModel_(new ScopeModel(this)) {
  linkLesson(this, "zero_mean");
  setObjectName(QStringLiteral("panel"));
  filter_->setSourceModel(normModel_);
  auto* layout = makeColumn(this);
  QFrame* header = makeBar(QStringLiteral("panelHeader"), 36, this);
  layoutOf(header)->setContentsMargins(0, 0, 8, 0);
  tabs_ = new QTabBar(header);
  tabs_->setExpanding(false);
  tabs_->addTab(tr("Norms"));
  tabs_->addTab(tr("Modules"));
  tabs_->setAccessibleName(tr("Norms or modules"));
  layoutOf(header)->addWidget(tabs_, 0, Qt::AlignBottom);
  layoutOf(header)->addStretch(1);
  auto* table = describe(new IconButton(QStringLiteral("panel"), {}, tr("Show the LayerNorms as a table (W)"), header),
                         "normsAsTable");
  layoutOf(header)->addWidget(table);
  connect(table, &QToolButton::clicked, this, &NormPanel::tableWanted);
  layout->addWidget(header);
  pages_ = new QStackedWidget(this);
  pages_->addWidget(makeNormPage());
  pages_->addWidget(makeModulePage());
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  layout->addWidget(pages_, 1);
  legend_ = new QWidget(this);
  auto* legend = makeColumn(legend_);
  legend->addWidget(makeLine(Qt::Horizontal, legend_));
  legend->addWidget(new Legend(legend_));
  layout->addWidget(legend_);
  legend_->hide();  // until there is room: it keeps no window from being as low as its screen
  connect(session_, &Session::modelChanged, this, &NormPanel::fillModules);
  connect(session_, &Session::analysisChanged, this, &NormPanel::fillNorms);
  connect(session_, &Session::modelChanged, this, &NormPanel::fillNorms);
  connect(session_, &Session::planChanged, this, &NormPanel::showPlan);
  connect(session_, &Session::foldChanged, this, &NormPanel::showPlan);
  connect(session_->preview(), &PlanPreview::changed, this, &NormPanel::showPlan);
  connect(session_->selection(), &GraphSelection::changed, this, &NormPanel::followSelection);
}

QWidget* NormPanel::makeNormPage() {
  auto* page = new QWidget(this);
  auto* layout = makeColumn(page, 6, {0, 8, 0, 0});
  auto* words = describe(new QLineEdit(page), "normFilter",
                         tr("Show only norms whose name or reason contains these words."), tr("Filter norms"));
  words->setPlaceholderText(tr("Filter norms"));
  words->setClearButtonEnabled(true);
  words->setAcceptDrops(false);
  addLeadingIcon(words, "filter");
  connect(words, &QLineEdit::textChanged, this, [this](const QString& wanted) {
    filter_->setWords(wanted);
    if (!wanted.isEmpty()) norms_->expandAll();
  });
  auto* box = makeRow(nullptr, 0, {12, 0, 12, 0});
  box->addWidget(words);
  layout->addLayout(box);
  shared_ = describe(makeWords("soft", page), "sharedNames");
  shared_->setContentsMargins(14, 0, 12, 0);
  layout->addWidget(shared_);
  norms_ = makeTree("normList", tr("LayerNorms by verdict"), filter_, page);
  norms_->setIndentation(0);
  norms_->setRootIsDecorated(false);
  norms_->setExpandsOnDoubleClick(false);
  auto* delegate = new NormDelegate(norms_);
  norms_->setItemDelegate(delegate);
  connect(norms_, &QTreeView::clicked, this, [this](const QModelIndex& index) {
    if (index.data(NormModel::IsGroupRole).toBool()) norms_->setExpanded(index, !norms_->isExpanded(index));
  });
  connect(norms_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this, delegate](const QModelIndex& now, const QModelIndex& before) {
            delegate->currentChanged(now, before);
            chooseNorm(now);
          });
  layout->addWidget(norms_, 1);
  return page;
}

QWidget* NormPanel::makeModulePage() {
  modules_ = makeTree("moduleTree", tr("Modules"), scopeModel_, this);
  modules_->setIndentation(14);
  modules_->setItemDelegate(new RowDelegate(
      [](const QModelIndex& index) {
        return RowLook{{}, index.data().toString(), index.data(ScopeModel::TypeRole).toString()};
      },
      24, this));
  connect(modules_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& now) {
    if (!following_ && now.isValid()) Q_EMIT scopeChosen(now.data(ScopeModel::ScopeRole).toInt());
  });
  return modules_;
}

// The legend is hidden where it would leave the list only a few rows.
void NormPanel::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  legend_->setVisible(height() >= grown(kLegendFrom));
}

void NormPanel::fillNorms() {
  following_ = true;
  normModel_->setNorms(session_->analysis() ? session_->analysis()->norms : std::vector<protocol::NormInfo>(),
                       session_->early());
  shared_->setText(normModel_->sharedEnds().isEmpty() ? QString() : tr("All names: %1").arg(normModel_->sharedEnds()));
  shared_->setVisible(!normModel_->sharedEnds().isEmpty());
  showPlan();
  for (int group = 0; group < filter_->rowCount(); ++group) {
    const QModelIndex at = filter_->index(group, 0);
    norms_->setExpanded(at, filter_->rowCount(at) > 0);
  }
  following_ = false;
  followSelection();
}

void NormPanel::showPlan() { normModel_->setPlan(session_->planMarks()); }

void NormPanel::fillModules() {
  scopeModel_->setGraph(session_->index().graph(), QFileInfo(session_->path()).completeBaseName());
  modules_->expandToDepth(1);
}

void NormPanel::chooseNorm(const QModelIndex& index) {
  if (following_ || !index.isValid() || index.data(NormModel::IsGroupRole).toBool()) return;
  session_->selection()->selectNorm(index.data(NormModel::NormRole).toInt());
}

void NormPanel::followSelection() {
  following_ = true;
  const QModelIndex at = filter_->mapFromSource(normModel_->indexOfNorm(session_->selection()->current().norm));
  norms_->setCurrentIndex(at);
  if (at.isValid()) {
    norms_->expand(at.parent());
    // Once the row has grown by its reason.
    QTimer::singleShot(0, norms_, [this] { norms_->scrollTo(norms_->currentIndex()); });
  } else {
    norms_->clearSelection();
  }
  following_ = false;
}

void NormPanel::showNorms() {
  tabs_->setCurrentIndex(0);
  norms_->setFocus();
}

void NormPanel::showModules() {
  tabs_->setCurrentIndex(1);
  modules_->setFocus();
}

void NormPanel::revealScope(int scope) {
  following_ = true;
  const QModelIndex at = scopeModel_->indexOfScope(scope);
  if (at.isValid()) {
    modules_->setCurrentIndex(at);
    modules_->scrollTo(at);
  }
  following_ = false;
}

}  // namespace normlens::ui
