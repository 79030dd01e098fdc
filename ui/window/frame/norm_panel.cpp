#include "ui/window/frame/norm_panel.h"

#include <QFileInfo>
#include <QLineEdit>
#include <QStackedWidget>
#include <QTabBar>
#include <QTimer>
#include <QTreeView>

#include "ui/models/norm_model.h"
#include "ui/models/scope_model.h"
#include "ui/models/search/norm_filter.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/theme/theme.h"
#include "ui/widgets/delegates/norm_delegate.h"
#include "ui/widgets/delegates/row_delegate.h"
#include "ui/widgets/lesson_link.h"
#include "ui/widgets/plots/legend.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

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
  layoutOf(header)->setContentsMargins(0, 0, 0, 0);
  tabs_ = new QTabBar(header);
  tabs_->setExpanding(false);
  tabs_->addTab(tr("Norms"));
  tabs_->addTab(tr("Modules"));
  tabs_->setAccessibleName(tr("Norms or modules"));
  layoutOf(header)->addWidget(tabs_, 0, Qt::AlignBottom);
  layoutOf(header)->addStretch(1);
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
