#include "ui/window/inspector/group_page.h"

#include <algorithm>
#include <set>

#include "ui/session/session.h"
#include "ui/theme/class_mark.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/needs_list.h"
#include "ui/widgets/property_list.h"
#include "ui/widgets/push_button.h"
#include "ui/window/inspector/inspector.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"
#include "ui/words/plan_mark.h"

namespace normlens::ui {

namespace {

bool holds(const std::vector<int>& all, int one) { return std::ranges::find(all, one) != all.end(); }

// By id.
std::vector<bool> scopesInside(const Session& session, int scope) {
  std::vector<bool> inside;
  for (const protocol::GraphScope& each : session.index().graph().scopes) {
    const auto id = static_cast<size_t>(each.id);
    if (id >= inside.size()) inside.resize(id + 1);
    inside[id] = holds(session.index().scopePath(each.id), scope);
  }
  return inside;
}

}  // namespace

QString nodeCount(const GroupContent& content) {
  const QString nodes = formatCount(content.nodes), helpers = formatCount(content.helpers);
  return content.helpers == 0   ? nodes
         : content.helpers == 1 ? GroupPage::tr("%1, and 1 helper").arg(nodes)
                                : GroupPage::tr("%1, and %2 helpers").arg(nodes, helpers);
}

GroupContent contentOf(const Session& session, int scope) {
  GroupContent content;
  const std::vector<bool> inside = scopesInside(session, scope);
  std::set<int> weights;
  for (const protocol::GraphNode& node : session.index().graph().nodes) {
    if (node.scope < 0 || !inside[static_cast<size_t>(node.scope)]) continue;
    const bool helper = node.helper || node.role == NodeClass::Helper;
    if (node.role != NodeClass::Input && node.role != NodeClass::Output) ++(helper ? content.helpers : content.nodes);
    if (session.norm(node.norm) != nullptr && !holds(content.norms, node.norm)) content.norms.push_back(node.norm);
    weights.insert(node.inputs.begin(), node.inputs.end());
  }
  for (const int weight : weights) {
    const protocol::GraphValue* value = session.index().value(weight);
    if (value == nullptr || !value->constant || value->shape.empty()) continue;
    int64_t size = 1;
    for (const int64_t extent : value->shape) size *= extent;
    content.parameters += size;
  }
  return content;
}

GroupPage::GroupPage(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
  InspectorPage page(this);
  title_ = describe(page.addTitle(page.layout, Qt::ElideLeft), "groupTitle");
  subtitle_ = page.add(makeWords("soft", page.body));
  page.layout->addSpacing(4);
  facts_ = page.add(new PropertyList(page.body));
  page.layout->addSpacing(8);
  normsTitle_ = page.add(makeWords("section", page.body));
  list_ = page.add(describe(new NeedsList(page.body), "groupNorms"));
  connect(list_, &NeedsList::activated, this, [this](int norm) { session_->selection()->selectNorm(norm); });
  page.layout->addStretch(1);
  fold_ = page.addFooterButton(tr("Fold all inside"), "groupFold");
  keep_ = page.addFooterButton(tr("Keep all inside"), "groupKeep");
  keep_->setToolTip(tr("Leave every LayerNorm of this group out of the plan."));
  connect(fold_, &QPushButton::clicked, this, [this] { keepAll(false); });
  connect(keep_, &QPushButton::clicked, this, [this] { keepAll(true); });
}

void GroupPage::showGroup(int scope) {
  const protocol::GraphScope* group = session_->index().scope(scope);
  if (group == nullptr) return;
  title_->setFullText(group->path.empty() ? session_->title() : text(group->path));
  const GroupContent content = contentOf(*session_, scope);
  norms_ = content.norms;
  subtitle_->setText(group->type.empty() ? tr("group of nodes") : text(group->type));
  facts_->setProperties(
      {{tr("nodes"), nodeCount(content), tr("Helpers compute shapes and are hidden unless the graph shows them.")},
       {tr("parameters"), formatCount(content.parameters),
        tr("The elements of the weights that nodes of this group read.")},
       {tr("LayerNorms"), QString::number(norms_.size())}});
  refreshPlan();
}

void GroupPage::refreshPlan() {
  // Those of a model that makes way for another go before the page does.
  std::erase_if(norms_, [this](int norm) { return session_->norm(norm) == nullptr; });
  const auto folded = std::ranges::count_if(norms_, [this](int norm) { return session_->folds(norm); });
  normsTitle_->setText(tr("LayerNorms inside: the plan folds %1 of %2").arg(folded).arg(norms_.size()));
  normsTitle_->setVisible(!norms_.empty());
  QVector<Need> rows;
  for (const int norm : norms_) {
    const PlanMark mark = session_->planMark(norm);
    rows.push_back({u'N',
                    shortName(text(session_->norm(norm)->title), 2),
                    {},
                    planWord(mark.state),
                    Need::State::Plain,
                    norm,
                    false,
                    true});
  }
  list_->setNeeds(rows);
  const auto& kept = session_->choices()->params().keep_norms;
  const bool can = session_->plan().has_value() && session_->cannotRun().isEmpty();
  fold_->parentWidget()->setVisible(!norms_.empty());
  const bool any = std::ranges::any_of(norms_, [&](int norm) { return holds(kept, norm); });
  fold_->setEnabled(can && any);
  fold_->setToolTip(foldTip(any));
  keep_->setEnabled(can && folded > 0);
}

// kept: the user keeps one of the group's.
QString GroupPage::foldTip(bool kept) const {
  if (kept || !session_->plan()) return tr("Fold again every LayerNorm of this group that you chose to keep.");
  bool stay = false, can = false;
  for (const int norm : norms_) {
    if (session_->folds(norm)) continue;
    stay = true;
    can = can || normlens::folds(session_->norm(norm)->verdict);
  }
  return !stay  ? tr("The plan already folds every LayerNorm of this group.")
         : !can ? tr("The other LayerNorms of this group cannot be folded. The page of each gives the reason.")
                : tr("The policy %1 does not fold the other LayerNorms of this group. The policy %2 does.")
                      .arg(policyTitle(session_->plan()->policy), policyTitle(Policy::All));
}

void GroupPage::keepAll(bool keep) { session_->choices()->keepNorms(norms_, keep); }

}  // namespace normlens::ui
