#include "ui/window/inspector/node_page.h"

#include <QLabel>
#include <algorithm>

#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/theme/class_mark.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/property_list.h"
#include "ui/widgets/push_button.h"
#include "ui/window/inspector/center_card.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/inspector/weight_view.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

QString typeOf(const protocol::GraphValue& value) {
  QStringList parts;
  if (value.has_shape) parts << formatShape(value.shape);
  if (!value.dtype.empty() && value.dtype != "?") parts << text(value.dtype);
  return parts.join(u' ');
}

}  // namespace

NodePage::NodePage(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
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
  centerHere_->setToolTip(tr("Subtract the mean of this value at run time; shows first what that would free."));
  connect(centerHere_, &QPushButton::clicked, this, &NodePage::centerHere);
}

void NodePage::clear() {
  center_->dismiss();
  weight_->showConstant(-1);
  centerValue_ = -1;
}

void NodePage::showNode(int id) {
  clear();
  const protocol::GraphNode* node = session_->index().node(id);
  if (node == nullptr) return;
  title_->setFullText(text(node->label.empty() ? node->op : node->label));
  const protocol::GraphScope* scope = session_->index().scope(node->scope);
  const QString where = scope != nullptr && !scope->path.empty() ? text(scope->path) : tr("the model itself");
  subtitle_->setText(tr("%1 in %2").arg(text(node->op), where));
  showMeaning(node->role.empty() ? QString() : classMeaning(QChar::fromLatin1(node->role[0])));
  inputSection_->setVisible(!node->inputs.empty());
  inputs_->setNeeds(values(node->inputs, true));
  outputSection_->setVisible(!node->outputs.empty());
  outputsTitle_->setText(tr("Outputs"));
  outputs_->setNeeds(values(node->outputs, false));
  QVector<Property> rows;
  for (const auto& [name, value] : node->attributes) rows.push_back({text(name), text(value)});
  if (!node->source.empty())
    rows.push_back({tr("source"), text(node->source), tr("Where it was written, as the file says.")});
  rows.push_back(deviceRow());
  attributes_->setProperties(rows);
  if (!node->outputs.empty()) centerValue_ = node->outputs.front();
  centerHere_->setEnabled(centerValue_ >= 0 && session_->cannotRun().isEmpty());
}

void NodePage::showValue(int id) {
  clear();
  const protocol::GraphValue* value = session_->index().value(id);
  if (value == nullptr) return;
  title_->setFullText(text(value->name));
  const protocol::GraphNode* producer = session_->index().producer(id);
  subtitle_->setText(producer != nullptr ? tr("made by %1").arg(session_->index().nodeTitle(producer->id))
                                         : tr("a value"));
  showMeaning(value->stream ? tr("Lies on a residual stream: blocks add to it one after another.") : QString());
  inputSection_->hide();
  outputSection_->show();
  outputsTitle_->setText(tr("Read by"));
  QVector<Need> readers;
  for (const protocol::GraphNode& node : session_->index().graph().nodes) {
    if (node.helper || std::find(node.inputs.begin(), node.inputs.end(), id) == node.inputs.end()) continue;
    const int target = node.outputs.empty() ? -1 : node.outputs.front();
    const QChar mark = node.role.empty() ? u'O' : QChar::fromLatin1(node.role[0]);
    readers.push_back({mark, session_->index().nodeTitle(node.id), {}, {}, Need::State::Plain, target});
  }
  outputs_->setNeeds(readers);
  attributes_->setProperties({{tr("shape"), value->has_shape ? formatShape(value->shape) : tr("not known")},
                              {tr("type"), value->dtype.empty() ? tr("not known") : text(value->dtype)},
                              deviceRow()});
  centerValue_ = value->constant ? -1 : id;
  centerHere_->setEnabled(centerValue_ >= 0 && session_->cannotRun().isEmpty());
}

Property NodePage::deviceRow() {
  return {tr("device"), tr("CPU"), tr("Where the probe run computes it; measurements choose their device.")};
}

void NodePage::showMeaning(const QString& sentence) {
  meaning_->setText(sentence);
  meaning_->setVisible(!sentence.isEmpty());
}

QVector<Need> NodePage::values(const std::vector<int>& ids, bool inputs) const {
  QVector<Need> rows;
  for (const int id : ids) {
    const protocol::GraphValue* value = session_->index().value(id);
    if (value == nullptr) continue;
    const protocol::GraphNode* producer = session_->index().producer(id);
    QChar mark = u'L';
    if (!value->constant && producer != nullptr && !producer->role.empty()) mark = QChar::fromLatin1(producer->role[0]);
    if (!value->constant && producer == nullptr) mark = u'O';
    const QString name = value->constant || !inputs || producer == nullptr ? text(value->name)
                                                                           : session_->index().nodeTitle(producer->id);
    rows.push_back({mark, name, {}, typeOf(*value), Need::State::Plain, value->constant || inputs ? id : -1});
  }
  return rows;
}

void NodePage::leave() { weight_->showConstant(-1); }

void NodePage::centerHere() {
  if (centerValue_ >= 0) center_->ask(centerValue_);
}

void NodePage::askCenter(int value) {
  centerValue_ = value;
  center_->ask(value);
}

}  // namespace normlens::ui
