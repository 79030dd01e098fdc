#include "ui/window/inspector/inspector.h"

#include <QClipboard>
#include <QComboBox>
#include <QFileInfo>
#include <QGuiApplication>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStringList>
#include <QTextDocumentFragment>
#include <QWidget>
#include <algorithm>

#include "core/protocol/input_groups.h"
#include "ui/session/session.h"
#include "ui/theme/class_mark.h"
#include "ui/widgets/badge.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/needs_list.h"
#include "ui/widgets/property_list.h"
#include "ui/widgets/push_button.h"
#include "ui/widgets/room_steps.h"
#include "ui/window/inspector/advice_card.h"
#include "ui/window/inspector/center_card.h"
#include "ui/window/inspector/group_page.h"
#include "ui/window/inspector/norm_page.h"
#include "ui/window/inspector/weight_view.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"
#include "ui/words/plan_mark.h"

namespace normlens::ui {
namespace {

constexpr int kNameLetters = 12;  // that have room in any case

QString typeOf(const protocol::GraphValue& value) {
  QStringList parts;
  if (value.has_shape) parts << formatShape(value.shape);
  if (!value.dtype.empty() && value.dtype != "?") parts << text(value.dtype);
  return parts.join(u' ');
}

QString weightWord(const protocol::OtherNormInfo& norm) {
  if (*norm.weightless == Verdict::Unknown) return QObject::tr("not known");
  return *norm.weightless == Verdict::Free ? QObject::tr("weight can move") : QObject::tr("weight stays");
}

// What a page shows, as plain text for the clipboard: a line for each label and each row of a list.
QString textOf(const QWidget& page) {
  QStringList lines;
  for (const QWidget* part : page.findChildren<QWidget*>()) {
    const auto* label = qobject_cast<const QLabel*>(part);
    const QWidget* row = part->parentWidget();
    const bool isNeed = qobject_cast<const NeedsList*>(row) != nullptr;
    const bool isPainted = isNeed || qobject_cast<const Badge*>(part) != nullptr;
    if ((label == nullptr && !isPainted) || !part->isVisibleTo(&page)) continue;
    // The name of a label that is cut, and of what is painted, is its whole text.
    const bool named = isPainted || qobject_cast<const ElidedLabel*>(part) != nullptr;
    QString words = named ? part->accessibleName() : label->text();
    if (Qt::mightBeRichText(words)) words = QTextDocumentFragment::fromHtml(words).toPlainText();
    words.remove(kWordJoiner).remove(kBreakHere);
    if (words.isEmpty()) continue;
    if (part->objectName() == QStringLiteral("propertyValue")) {
      lines.back() = QStringLiteral("  %1: %2").arg(lines.back(), words);
    } else {
      lines << (isNeed ? QStringLiteral("  ") + words : words);
    }
  }
  return lines.join(u'\n') + u'\n';
}

}  // namespace

// The inspector's page of the model itself, shown when nothing is selected.
class ModelPage final : public QWidget {
  Q_OBJECT

 public:
  // session: not owned
  ModelPage(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
    InspectorPage page(this);
    title_ = page.addTitle(page.layout, Qt::ElideMiddle);
    subtitle_ = page.add(makeWords("soft", page.body));
    const QString tip = tr("The file contains several models. This one is shown.");
    models_ = page.add(describe(makeNameChoice(kNameLetters, page.body), "modelChoice", tip, tip));
    connect(models_, &QComboBox::activated, this, [this] {
      if (models_->currentText() != session_->modelName()) Q_EMIT modelWanted(session_->path(), models_->currentText());
    });
    connect(session_, &Session::openFailed, this, &ModelPage::showModels);  // the one before is shown still
    connect(session_, &Session::engineLost, this, &ModelPage::showModels);
    page.layout->addSpacing(4);
    note_ = page.add(describe(makeWords("body", page.body), "modelNote"));
    page.layout->addSpacing(4);
    facts_ = page.add(new PropertyList(page.body));
    page.add(new AdviceCard(session, page.body));
    const auto addSection = [&](const QString& title, QLabel*& label) {
      page.layout->addSpacing(8);
      label = page.add(makeLabel(title, "section", page.body));
      return page.add(new PropertyList(page.body));
    };
    inputs_ = addSection(tr("Inputs used for analysis"), inputsTitle_);
    assumed_ = page.add(makeWords("faint", page.body));
    papers_ = addSection(tr("Foldable by"), papersTitle_);
    othersTitle_ = page.add(describe(makeLabel(tr("Other norms"), "section", page.body), "otherNormsTitle"));
    others_ = page.add(describe(new NeedsList(page.body), "otherNorms"));
    connect(others_, &NeedsList::activated, this, [this](int node) { session_->selection()->selectNode(node); });
    // A long name in the words makes nothing wider than the panel.
    for (QLabel* words : {note_, assumed_}) {
      QSizePolicy policy = words->sizePolicy();
      policy.setHorizontalPolicy(QSizePolicy::Ignored);
      words->setSizePolicy(policy);
    }
    page.layout->addStretch(1);
  }

  void showModel() {
    const auto& model = session_->model();
    const auto& analysis = session_->analysis();
    title_->setFullText(QFileInfo(session_->path()).fileName());
    subtitle_->setText(model ? tr("%1, %2 parameters").arg(text(model->format), formatCount(model->parameters))
                             : QString());
    showModels();
    showNote();
    QVector<Property> facts;
    if (model) {
      facts.push_back({tr("file"), formatBytes(model->file_bytes), session_->path()});
      facts.push_back({tr("weights"), formatBytes(model->parameter_bytes), {}});
      facts.push_back({tr("nodes"), nodeCount(contentOf(*session_, 0)), {}});
    }
    if (analysis) {
      facts.push_back({tr("LayerNorms"), QString::number(analysis->totals.layer_norms), {}});
      facts.push_back(
          {tr("other norms"), QString::number(analysis->other_norms.size()),
           tr("Norms over space and norms without a mean do not fold. The page of each gives the reason.")});
    }
    facts_->setProperties(facts);
    QVector<Property> inputs;
    QStringList assumed;
    if (analysis) {
      for (const auto& [names, input] : protocol::inputGroups(analysis->inputs)) {
        inputs.push_back({text(names), QStringLiteral("%1 %2").arg(text(input.dtype), formatShape(input.shape)),
                          tr("values from %1 to %2").arg(formatNumber(input.low), formatNumber(input.high))});
        if (!input.assumed.empty()) assumed << QStringLiteral("%1: %2").arg(text(names), text(input.assumed));
      }
    }
    inputs_->setProperties(inputs);
    inputsTitle_->setVisible(!inputs.isEmpty());
    assumed_->setText(withNameBreaks(assumed.join(u'\n')));
    assumed_->setVisible(!assumed.isEmpty());
    QVector<Property> papers;
    if (analysis && analysis->totals.layer_norms > analysis->totals.unknown) {
      const protocol::Totals& t = analysis->totals;
      const auto ofAll = [&](int count) { return formatShare(count, t.layer_norms, t.unknown); };
      papers = {
          {tr("paper's Algorithm 1"), ofAll(t.paper), tr("The paper's Algorithm 1, run by NormLens.")},
          {tr("paper, with centering"), ofAll(t.paper_practical),
           tr("The paper's Algorithm 1 with run-time centering after opaque leaves. It is the paper's criterion: "
              "NormLens also centers before a norm.")},
          {tr("paper, strict (D.2)"), ofAll(t.paper_strict), tr("Foldable, and every affected layer is a LayerNorm.")},
          {tr("NormLens, weights only"), ofAll(t.free), tr("By editing weights alone, without changing any output."),
           true}};
    }
    papers_->setProperties(papers);
    papersTitle_->setVisible(!papers.isEmpty());
    QVector<Need> others;
    for (const auto& other : analysis ? analysis->other_norms : std::vector<protocol::OtherNormInfo>()) {
      const QString status = other.weightless ? weightWord(other) : text(other.kind);
      const protocol::GraphNode* node = session_->index().node(other.node);
      const QChar mark = node != nullptr ? QChar::fromLatin1(letterOf(node->role)) : u'O';
      others.push_back({mark, text(other.name), {}, status, Need::State::Plain, other.node});
    }
    others_->setNeeds(others);
    othersTitle_->setVisible(!others.isEmpty());
  }

 Q_SIGNALS:
  void modelWanted(const QString& path, const QString& name);  // One of a file that holds several.

 private:
  void showModels() {
    models_->clear();
    if (session_->model()) {
      for (const std::string& name : session_->model()->models) models_->addItem(text(name));
    }
    models_->setCurrentText(session_->modelName());
    models_->setVisible(models_->count() > 0);
  }
  // Shows the file's own note together with what became of the run.
  void showNote() {
    const auto& model = session_->model();
    const auto& analysis = session_->analysis();
    QStringList notes;
    if (model && !model->note.empty()) notes << asSentence(text(model->note));
    if (analysis && !analysis->probe_error.empty()) {
      notes << asSentence(tr("The model could not be run: %1").arg(text(analysis->probe_error)));
    } else if (analysis && !analysis->note.empty()) {
      notes << asSentence(text(analysis->note));
    } else if (analysis && notes.isEmpty()) {
      notes << tr("Select a LayerNorm to see what decides whether it folds.");
    }
    note_->setText(withNameBreaks(notes.join(u'\n')));
    note_->setVisible(!notes.isEmpty());
  }

  Session* session_;  // Not owned.
  ElidedLabel* title_;
  QLabel* subtitle_;
  QComboBox* models_;  // The file's; hidden where there is but one.
  QLabel* note_;
  PropertyList* facts_;
  QLabel* inputsTitle_;
  PropertyList* inputs_;
  QLabel* assumed_;
  QLabel* papersTitle_;
  QLabel* othersTitle_;
  NeedsList* others_;
  PropertyList* papers_;
};

// The inspector's page of one operator or one edge: what it is, its attributes, what goes in and out.
class NodePage final : public QWidget {
 public:
  // session: not owned
  NodePage(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
    InspectorPage page(this);
    title_ = page.addTitle(page.layout, Qt::ElideLeft);
    subtitle_ = page.add(makeWords("soft", page.body));
    page.layout->addSpacing(4);
    meaning_ = page.add(makeWords("body", page.body));
    center_ = page.add(new CenterCard(session, QStringLiteral("Node"), page.body));
    const auto addList = [&](QWidget*& section, QLabel*& label) {
      section = page.add(new QWidget(page.body));
      auto* column = makeColumn(section, 4, {0, 4, 0, 0});
      column->addWidget(makeLine(Qt::Horizontal, section));
      label = makeLabel({}, "section", section);
      column->addWidget(label);
      auto* list = new NeedsList(section);
      column->addWidget(list);
      connect(list, &NeedsList::activated, this, [this](int value) {
        const protocol::GraphValue* at = session_->index().value(value);
        if (at != nullptr && at->constant) {
          weight_->showConstant(value);
        } else if (const protocol::GraphNode* producer = session_->index().producer(value)) {
          session_->selection()->selectNode(producer->id);
        }
      });
      return list;
    };
    inputs_ = addList(inputSection_, inputsTitle_);
    outputs_ = addList(outputSection_, outputsTitle_);
    inputsTitle_->setText(tr("Inputs"));
    weight_ = page.add(new WeightView(session, page.body));
    page.layout->addSpacing(4);
    page.add(makeLabel(tr("Attributes"), "section", page.body));
    attributes_ = page.add(new PropertyList(page.body));
    page.layout->addStretch(1);
    centerHere_ = page.addFooterButton(tr("Center here"), "centerHereNode");
    centerHere_->setToolTip(tr("Subtract the mean of this value at run time. First shows what that would free."));
    connect(centerHere_, &QPushButton::clicked, this, &NodePage::centerHere);
  }

  void showNode(int id) {
    clear();
    const protocol::GraphNode* node = session_->index().node(id);
    if (node == nullptr) return;
    title_->setFullText(text(node->label.empty() ? node->op : node->label));
    const protocol::GraphScope* scope = session_->index().scope(node->scope);
    const QString where = scope != nullptr && !scope->path.empty() ? text(scope->path) : tr("the model itself");
    subtitle_->setText(tr("%1 in %2").arg(text(node->op), where));
    QString meaning = classMeaning(QChar::fromLatin1(letterOf(node->role)));
    inputSection_->setVisible(!node->inputs.empty());
    inputs_->setNeeds(values(node->inputs, true));
    outputSection_->setVisible(!node->outputs.empty());
    outputsTitle_->setText(tr("Outputs"));
    outputs_->setNeeds(values(node->outputs, false));
    QVector<Property> rows;
    const auto& analysis = session_->analysis();
    for (const auto& other : analysis ? analysis->other_norms : std::vector<protocol::OtherNormInfo>()) {
      if (other.node != id) continue;
      if (other.verdict) rows.push_back({tr("verdict"), verdictTitle(*other.verdict), verdictMeaning(*other.verdict)});
      if (!other.reason.empty()) meaning = asSentence(text(other.reason));
      if (!other.weightless) continue;
      rows.push_back({tr("weightless"), weightWord(other), {}});
      meaning += u'\n' + asSentence(text(other.weightless_reason));
    }
    showMeaning(meaning);
    for (const auto& [name, value] : node->attributes) rows.push_back({text(name), text(value)});
    if (!node->source.empty())
      rows.push_back({tr("source"), text(node->source), tr("The place in the source, according to the file.")});
    rows.push_back(deviceRow());
    attributes_->setProperties(rows);
    if (!node->outputs.empty()) centerValue_ = node->outputs.front();
    centerHere_->setEnabled(centerValue_ >= 0 && session_->cannotRun().isEmpty());
  }
  // An edge.
  void showValue(int id) {
    clear();
    const protocol::GraphValue* value = session_->index().value(id);
    if (value == nullptr) return;
    title_->setFullText(text(value->name));
    const protocol::GraphNode* producer = session_->index().producer(id);
    subtitle_->setText(producer != nullptr ? tr("made by %1").arg(session_->index().nodeTitle(producer->id))
                                           : tr("a value"));
    showMeaning(value->stream ? tr("Part of a residual stream: one block after another adds to it.") : QString());
    inputSection_->hide();
    outputSection_->show();
    outputsTitle_->setText(tr("Read by"));
    QVector<Need> readers;
    for (const protocol::GraphNode& node : session_->index().graph().nodes) {
      if (node.helper || std::find(node.inputs.begin(), node.inputs.end(), id) == node.inputs.end()) continue;
      const int target = node.outputs.empty() ? -1 : node.outputs.front();
      const QChar mark = QChar::fromLatin1(letterOf(node.role));
      readers.push_back({mark, session_->index().nodeTitle(node.id), {}, {}, Need::State::Plain, target});
    }
    outputs_->setNeeds(readers);
    attributes_->setProperties({{tr("shape"), value->has_shape ? formatShape(value->shape) : tr("not known")},
                                {tr("type"), value->dtype.empty() ? tr("not known") : text(value->dtype)},
                                deviceRow()});
    centerValue_ = value->constant ? -1 : id;
    centerHere_->setEnabled(centerValue_ >= 0 && session_->cannotRun().isEmpty());
  }
  // Another page is shown.
  void leave() { weight_->showConstant(-1); }
  void askCenter(int value) {
    centerValue_ = value;
    center_->ask(value);
  }
  // Centers the value that is shown.
  void centerHere() {
    if (centerValue_ >= 0) center_->ask(centerValue_);
  }

 private:
  [[nodiscard]] QVector<Need> values(const std::vector<int>& ids, bool inputs) const {
    QVector<Need> rows;
    for (const int id : ids) {
      const protocol::GraphValue* value = session_->index().value(id);
      if (value == nullptr) continue;
      const protocol::GraphNode* producer = session_->index().producer(id);
      QChar mark = u'L';
      if (!value->constant && producer != nullptr) mark = QChar::fromLatin1(letterOf(producer->role));
      if (!value->constant && producer == nullptr) mark = u'O';
      const QString name = value->constant || !inputs || producer == nullptr
                               ? text(value->name)
                               : session_->index().nodeTitle(producer->id);
      rows.push_back({mark, name, {}, typeOf(*value), Need::State::Plain, value->constant || inputs ? id : -1});
    }
    return rows;
  }
  void clear() {
    center_->dismiss();
    weight_->showConstant(-1);
    centerValue_ = -1;
  }
  [[nodiscard]] static Property deviceRow() {
    return {tr("device"), tr("CPU"), tr("The device of the analysis run. Measurements have their own device.")};
  }
  void showMeaning(const QString& sentence) {
    meaning_->setText(sentence);
    meaning_->setVisible(!sentence.isEmpty());
  }

  Session* session_;  // Not owned.
  int centerValue_ = -1;
  ElidedLabel* title_;
  QLabel* subtitle_;
  QLabel* meaning_;
  QWidget* inputSection_;
  QLabel* inputsTitle_;
  NeedsList* inputs_;
  QWidget* outputSection_;
  QLabel* outputsTitle_;
  NeedsList* outputs_;
  CenterCard* center_;
  WeightView* weight_;
  PropertyList* attributes_;
  PushButton* centerHere_;
};

InspectorPage::InspectorPage(QWidget* owner) : page(owner) {
  auto* outer = makeColumn(owner);
  auto* scroll = makeScrollArea(owner, QObject::tr("Inspector"), Qt::ScrollBarAlwaysOff);
  scroll->setFocusPolicy(Qt::NoFocus);
  body = new QWidget(scroll);
  layout = makeColumn(body, 4, {16, 14, 16, 14});
  scroll->setWidget(body);
  outer->addWidget(scroll, 1);
}

ElidedLabel* InspectorPage::addTitle(QBoxLayout* row, Qt::TextElideMode mode) const {
  auto* title = new ElidedLabel({}, mode, body);
  title->setProperty("kind", "title");
  row->addWidget(title, row == layout ? 0 : 1);
  return title;
}

PushButton* InspectorPage::addFooterButton(const QString& text, const char* name) {
  if (footer == nullptr) {
    footer = describe(new QFrame(page), "panelFooter");
    auto* row = makeRow(footer, 8, {16, 8, 16, 8});
    static_cast<QVBoxLayout*>(page->layout())->addWidget(footer);
    // Buttons that do not fit side by side are put one above the other.
    (new RoomSteps(footer))->add([row](bool taken) {
      row->setDirection(taken ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    });
  }
  auto* button = describe(new PushButton(text, PushButton::Look::Outlined, footer), name);
  layoutOf(footer)->addWidget(button, 1);
  return button;
}

QLabel* addSection(QVBoxLayout* layout, QWidget* title) {
  QWidget* owner = layout->parentWidget();
  auto* row = makeRow(nullptr, -1, {0, 4, 0, 0});
  auto* note = makeLabel({}, "soft", owner);
  row->addWidget(title, 1);
  row->addWidget(note);
  layout->addWidget(makeLine(Qt::Horizontal, owner));
  layout->addLayout(row);
  return note;
}

Inspector::Inspector(Session* session, QWidget* parent) : QFrame(parent), session_(session) {
  describe(this, "panel", {}, tr("Inspector"));
  auto* layout = makeColumn(this);
  QFrame* header = makeBar(QStringLiteral("panelHeader"), 36, this);
  layoutOf(header)->addWidget(makeLabel(tr("Inspector"), "strong", header));
  layoutOf(header)->addStretch(1);
  auto* copyButton =
      describe(new IconButton(QStringLiteral("copy"), {}, tr("Copy this page as text"), header), "copyInspector");
  connect(copyButton, &QToolButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(textOf(*pages_->currentWidget())); });
  layoutOf(header)->addWidget(copyButton);
  auto* hideButton = new IconButton(QStringLiteral("panel"), {}, tr("Hide the inspector (Ctrl+I)"), header);
  connect(hideButton, &QToolButton::clicked, this, &Inspector::hideClicked);
  layoutOf(header)->addWidget(hideButton);
  layoutOf(header)->setContentsMargins(16, 0, 10, 0);
  layout->addWidget(header);
  pages_ = new QStackedWidget(this);
  model_ = new ModelPage(session, pages_);
  norm_ = new NormPage(session, pages_);
  node_ = new NodePage(session, pages_);
  group_ = new GroupPage(session, pages_);
  for (QWidget* page : std::initializer_list<QWidget*>{model_, norm_, node_, group_}) pages_->addWidget(page);
  layout->addWidget(pages_, 1);
  connect(model_, &ModelPage::modelWanted, this, &Inspector::modelWanted);
  connect(norm_, &NormPage::nodeWanted, this, &Inspector::nodeWanted);
  connect(session_->selection(), &GraphSelection::changed, this, &Inspector::showSelection);
  connect(session_, &Session::analysisChanged, this, &Inspector::showSelection);
  connect(session_, &Session::modelChanged, this, &Inspector::showSelection);
  connect(session_, &Session::planChanged, norm_, &NormPage::refreshPlan);
  connect(session_, &Session::foldChanged, norm_, &NormPage::refreshPlan);
  connect(session_, &Session::planChanged, group_, &GroupPage::refreshPlan);
  connect(session_, &Session::foldChanged, group_, &GroupPage::refreshPlan);
  connect(session_->selection(), &GraphSelection::zeroMeanChanged, norm_, &NormPage::refreshPlan);
}

void Inspector::askCenter(int value) {
  session_->selection()->selectValue(value);
  node_->askCenter(value);
}

void Inspector::foldSelected() {
  if (pages_->currentWidget() == norm_) norm_->foldThis();
}

void Inspector::centerSelected() {
  if (pages_->currentWidget() == norm_) {
    norm_->centerHere();
  } else if (pages_->currentWidget() == node_) {
    node_->centerHere();
  }
}

void Inspector::showSelection() {
  const Selection& selection = session_->selection()->current();
  if (session_->index().scope(selection.scope) != nullptr) {
    group_->showGroup(selection.scope);
    pages_->setCurrentWidget(group_);
  } else if (selection.norm >= 0 && session_->norm(selection.norm) != nullptr) {
    norm_->showNorm(selection.norm);
    pages_->setCurrentWidget(norm_);
  } else if (selection.node >= 0) {
    node_->showNode(selection.node);
    pages_->setCurrentWidget(node_);
  } else if (selection.value >= 0) {
    node_->showValue(selection.value);
    pages_->setCurrentWidget(node_);
  } else {
    model_->showModel();
    pages_->setCurrentWidget(model_);
  }
  // A page that is no longer looked at need not read its figures to the end.
  if (pages_->currentWidget() != norm_) norm_->leave();
  if (pages_->currentWidget() != node_) node_->leave();
}

}  // namespace normlens::ui

#include "inspector.moc"
