#include "ui/window/bottom/pages.h"

#include <QComboBox>
#include <QFileInfo>
#include <QHeaderView>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QStringList>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QWidget>
#include <optional>
#include <vector>

#include "ui/models/inputs_model.h"
#include "ui/session/project/input_presets.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/tables.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

// Paints and edits the table of inputs: types from a list, a red line under what cannot be meant.
class InputsDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Theme theme = themeOf(option.palette);
    painter->save();
    if (option.state & QStyle::State_Selected) painter->fillRect(option.rect, theme.selection);
    const bool wrong = !index.data(InputsModel::ErrorRole).toString().isEmpty();
    const bool note = index.column() == InputsModel::Note;
    const QFont font = note ? uiFont(12) : monoFont(12);
    const QRect area = option.rect.adjusted(index.column() == InputsModel::Name ? 16 : 8, 0, -8, 0);
    painter->setFont(font);
    painter->setPen(wrong ? theme.blocked : note ? theme.textFaint : theme.text);
    painter->drawText(area, Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetrics(font).elidedText(index.data().toString(), Qt::ElideRight, area.width()));
    painter->setPen(theme.hairline);
    painter->drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
    if (wrong) painter->fillRect(QRect(area.left(), option.rect.bottom() - 3, area.width(), 2), theme.blocked);
    painter->restore();
  }
  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const QString name = index.model()->headerData(index.column(), Qt::Horizontal).toString();
    if (index.column() == InputsModel::Type) {
      auto* box = new QComboBox(parent);
      box->addItems(InputsModel::types());
      box->setAccessibleName(name);
      return box;
    }
    QWidget* editor = QStyledItemDelegate::createEditor(parent, option, index);
    editor->setAccessibleName(name);
    // The cell has no room for the frame and padding of a field outside a table.
    editor->setStyleSheet(QStringLiteral("QLineEdit { border-radius: 0; min-height: 0; padding: 0 7px; }"));
    return editor;
  }
  void setEditorData(QWidget* editor, const QModelIndex& index) const override {
    if (auto* box = qobject_cast<QComboBox*>(editor)) {
      box->setCurrentText(index.data(Qt::EditRole).toString());
    } else {
      QStyledItemDelegate::setEditorData(editor, index);
    }
  }
  void setModelData(QWidget* editor, QAbstractItemModel* model, const QModelIndex& index) const override {
    if (auto* box = qobject_cast<QComboBox*>(editor)) {
      model->setData(index, box->currentText(), Qt::EditRole);
    } else {
      QStyledItemDelegate::setModelData(editor, model, index);
    }
  }
};

// Edits what the model is run with: the engine's guess, in a table, or arrays from a file.
class InputsPage final : public QWidget {
 public:
  InputsPage(Session* session, QWidget* parent) : QWidget(parent), session_(session), model_(new InputsModel(this)) {
    auto* layout = makeColumn(this);
    layout->addLayout(buildBar());
    buildTable();
    layout->addWidget(table_, 1);
    connect(model_, &QAbstractItemModel::dataChanged, this, &InputsPage::showState);
    for (const auto signal : {&Session::analysisChanged, &Session::modelChanged, &Session::inputsChanged}) {
      connect(session_, signal, this, &InputsPage::fill);
    }
    connect(session_, &Session::jobChanged, this, &InputsPage::showState);
    connect(session_, &Session::inputsUnused, this, [this](const QString& reason) {
      unused_ = reason;
      fill();
    });
    connect(session_, &Session::leaving, this, &InputsPage::forgetTyped);
    fill();
  }

  // .npy or .npz.
  void load() {
    const QStringList filters{tr("NumPy arrays (*.npz *.npy)"), tr("All files (*)")};
    const FileQuestion question{QStringLiteral("inputsDialog"), tr("Load inputs"), filters, folderOf(session_->path())};
    askForFile(this, question, [this](const QString& path) {
      protocol::InputsParams inputs = session_->inputs();
      inputs.npz = path.toStdString();
      inputs.specs.clear();
      forgetTyped();
      session_->setInputs(inputs);
    });
  }

 private:
  QLayout* buildBar() {
    auto* bar = makeRow(nullptr, 8, {16, 6, 12, 6});
    state_ = describe(new ElidedLabel({}, Qt::ElideRight, this), "inputsState");
    bar->addWidget(state_, 1);
    load_ = addButton(bar, "secondary", tr("Load .npy or .npz"), "inputsLoad",
                      tr("Run the model on arrays from a file, named in_0, in_1 and so on or like the inputs."));
    guess_ = addButton(bar, "secondary", tr("Guess again"), "inputsGuess",
                       tr("Discard your settings; the engine infers the inputs from the graph."));
    apply_ = addButton(bar, "secondary", tr("Use these inputs"), "inputsApply",
                       tr("Run the model on numbers drawn by this table and analyze it again; the plan is kept."));
    connect(load_, &QPushButton::clicked, this, &InputsPage::load);
    connect(guess_, &QPushButton::clicked, this, [this] {
      forgetTyped();
      session_->guessInputs();
    });
    connect(apply_, &QPushButton::clicked, this, &InputsPage::apply);
    return bar;
  }
  void buildTable() {
    table_ = makeRowTable(QStringLiteral("inputsTable"), tr("Inputs of the model"), 28, this);
    table_->setModel(model_);
    table_->setItemDelegate(new InputsDelegate(table_));
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                            QAbstractItemView::AnyKeyPressed | QAbstractItemView::SelectedClicked);
    table_->horizontalHeader()->setStretchLastSection(true);
    setColumnWidths(table_, {{InputsModel::Name, 190},
                             {InputsModel::Type, 110},
                             {InputsModel::Shape, 180},
                             {InputsModel::Low, 120},
                             {InputsModel::High, 120}});
  }
  void fill() {
    model_->setEditable(session_->inputs().npz.empty());
    const auto& analysis = session_->analysis();
    const bool found = !analysis || !analysis->inputs.empty() || analysis->probe_error.empty() || analysis->never_runs;
    model_->setInputs(!found     ? inputsOfGraph(session_->index())
                      : analysis ? analysis->inputs
                                 : std::vector<protocol::InputSpec>());
    // Typed cells stay while they are tried, and when they were refused or the run was stopped.
    if (session_->job().kind == JobKind::Analyzing || unused_) {
      if (!tried_.empty()) model_->retype(tried_, unused_.value_or(QString()));
    } else if (analysis) {
      forgetTyped();
    }
    showState();
  }
  void showState() {
    const protocol::InputsParams& inputs = session_->inputs();
    const QString error = model_->firstError();
    const bool set = !nothingChosen(inputs);
    const bool free = session_->analysis().has_value() && session_->served() && !session_->busy();
    load_->setEnabled(free);
    // Guessing is allowed while something runs: that is stopped.
    guess_->setEnabled(session_->model().has_value() && session_->served());
    apply_->setEnabled(free && model_->edited() && error.isEmpty());
    // Arrays from a file are refused as a whole: no cell has the reason.
    const bool asWhole = tried_.empty() && !model_->edited();
    const QString refusal = asWhole ? unused_.value_or(QString()) : model_->refusal();
    QString words;
    if (!session_->model()) {
      words = tr("Open a model to see its inputs.");
    } else if (session_->job().kind == JobKind::Analyzing) {
      words = tr("The engine is running the model on them.");
    } else if (!error.isEmpty()) {
      words = error;
    } else if (!refusal.isEmpty()) {
      words = refusal;
    } else if (session_->analysis() && session_->analysis()->never_runs) {
      words = tr("The model cannot be run with any inputs.");
    } else if (model_->edited()) {
      words = tr("Changed, not used yet.");
    } else if (!inputs.npz.empty()) {
      words = tr("From %1.").arg(QFileInfo(text(inputs.npz)).fileName());
      const auto& unused = session_->analysis() ? session_->analysis()->unused_arrays : std::vector<std::string>();
      if (!unused.empty()) words += tr(" Not used, because no input has this name: %1.").arg(nameList(unused));
    } else if (set) {
      words = tr("Your settings, kept for this model.");
    } else {
      words = session_->analysis() && session_->analysis()->inputs.empty()
                  ? tr("The model ran with none of the guesses. Double-click a cell to set it.")
                  : tr("Guessed from the graph. Double-click a cell to change it.");
    }
    setKind(state_, error.isEmpty() && refusal.isEmpty() ? "soft" : "error");
    state_->setFullText(words);
  }
  void apply() {
    const auto specs = model_->specs();
    if (!specs) return;
    protocol::InputsParams inputs = session_->inputs();
    inputs.npz.clear();
    inputs.specs = *specs;
    tried_ = model_->rows();
    unused_.reset();
    session_->setInputs(inputs);
  }
  void forgetTyped() {
    tried_.clear();
    unused_.reset();
  }

  Session* session_;  // Not owned.
  InputsModel* model_;
  QTableView* table_;
  ElidedLabel* state_;
  QPushButton* apply_;
  QPushButton* load_;
  QPushButton* guess_;
  std::vector<QStringList> tried_;  // The table's content when it was last used, until the model ran with it.
  std::optional<QString> unused_;   // it did not: why, or empty where it was stopped
};

}  // namespace

QWidget* makeInputsPage(Session* session, QWidget* parent) { return new InputsPage(session, parent); }

}  // namespace normlens::ui
