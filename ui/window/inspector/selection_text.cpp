#include "ui/window/inspector/selection_text.h"

#include <QCoreApplication>
#include <QStringList>

#include "ui/session/session.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("SelectionText", text); }

class Lines {
 public:
  void head(const QString& line) { lines_ << line; }
  void fact(const QString& name, const QString& value) {
    if (!value.isEmpty()) lines_ << QStringLiteral("  %1: %2").arg(name, value);
  }
  [[nodiscard]] QString text() const { return lines_.join(u'\n') + u'\n'; }

 private:
  QStringList lines_;
};

QString shapeAndType(const protocol::GraphValue& value) {
  QStringList parts;
  if (value.has_shape) parts << formatShape(value.shape);
  if (!value.dtype.empty() && value.dtype != "?") parts << text(value.dtype);
  return parts.join(u' ');
}

void addValues(Lines& lines, const Session& session, const QString& word, const std::vector<int>& ids) {
  for (const int id : ids) {
    const protocol::GraphValue* value = session.index().value(id);
    if (value != nullptr) lines.fact(word, (text(value->name) + u' ' + shapeAndType(*value)).trimmed());
  }
}

QString nodeText(const Session& session, const protocol::GraphNode& node) {
  Lines lines;
  lines.head(session.index().nodeTitle(node.id));
  lines.fact(tr("operator"), text(node.op));
  const protocol::GraphScope* scope = session.index().scope(node.scope);
  if (scope != nullptr) lines.fact(tr("module"), text(scope->path));
  lines.fact(tr("source"), text(node.source));
  for (const auto& [name, value] : node.attributes) lines.fact(text(name), text(value));
  addValues(lines, session, tr("input"), node.inputs);
  addValues(lines, session, tr("output"), node.outputs);
  return lines.text();
}

QString valueText(const Session& session, const protocol::GraphValue& value) {
  Lines lines;
  lines.head(text(value.name));
  lines.fact(tr("type"), shapeAndType(value));
  const protocol::GraphNode* producer = session.index().producer(value.id);
  if (producer != nullptr) lines.fact(tr("made by"), session.index().nodeTitle(producer->id));
  return lines.text();
}

QString normText(const Session& session, const protocol::NormInfo& norm) {
  Lines lines;
  lines.head(text(norm.title));
  lines.fact(tr("verdict"), text(nameOf(norm.verdict)));
  lines.fact(tr("reason"), text(norm.reason));
  for (const auto& condition : norm.holds_if) lines.fact(tr("holds if"), text(condition.text));
  for (const auto& condition : norm.would_fold_if) lines.fact(tr("would fold if"), text(condition.text));
  for (const protocol::EditInfo& edit : session.analysis()->edits) {
    if (edit.frees.contains(norm.index)) lines.fact(tr("edit"), text(edit.text));
  }
  if (!norm.normalized_shape.empty()) lines.fact(tr("normalized_shape"), formatShape(norm.normalized_shape));
  lines.fact(tr("eps"), formatNumber(norm.eps));
  const auto range = [](double low, double high) {
    return QStringLiteral("%1 … %2").arg(formatNumber(low), formatNumber(high));
  };
  if (norm.has_gamma) lines.fact(tr("γ range"), range(norm.gamma_min, norm.gamma_max));
  if (norm.has_beta) lines.fact(tr("β range"), range(norm.beta_min, norm.beta_max));
  return lines.text();
}

QString modelText(const Session& session) {
  Lines lines;
  lines.head(session.path());
  lines.fact(tr("format"), text(session.model()->format));
  lines.fact(tr("file"), formatBytes(session.model()->file_bytes));
  lines.fact(tr("parameters"), formatCount(session.model()->parameters));
  if (!session.analysis()) return lines.text();
  const protocol::Totals& totals = session.analysis()->totals;
  lines.fact(tr("LayerNorms"), QString::number(totals.layer_norms));
  lines.fact(tr("fold free"), QString::number(totals.free));
  lines.fact(tr("with centering"), QString::number(totals.with_centering));
  lines.fact(tr("blocked"), QString::number(totals.blocked));
  if (totals.unknown > 0) lines.fact(tr("unknown"), QString::number(totals.unknown));
  for (const protocol::InputSpec& input : session.analysis()->inputs) {
    lines.fact(tr("input"),
               QStringLiteral("%1 %2 %3").arg(text(input.name), text(input.dtype), formatShape(input.shape)));
  }
  return lines.text();
}

}  // namespace

QString selectionText(const Session& session) {
  if (!session.model()) return {};
  const Selection& selection = session.selection()->current();
  if (const protocol::NormInfo* norm = session.norm(selection.norm)) return normText(session, *norm);
  if (const protocol::GraphNode* node = session.index().node(selection.node)) return nodeText(session, *node);
  if (const protocol::GraphValue* value = session.index().value(selection.value)) return valueText(session, *value);
  return modelText(session);
}

}  // namespace normlens::ui
