#include "ui/window/workspace/changes/change_table.h"

#include <QStringList>
#include <algorithm>

#include "ui/models/edit_model.h"

namespace normlens::ui {

namespace {

using graphview::Change;
using Row = ChangeRow;

// Returns the figures of a change of one weight; nullptr: another change, or none have come yet.
const protocol::WeightChange* figuresOf(const Row& row) {
  const bool known = row.change.kind == Change::Kind::Weight && row.figures.front().has_value();
  return known ? &*row.figures.front() : nullptr;
}

bool isCentered(const Row& row) {
  const auto* figures = figuresOf(row);
  return figures != nullptr && figures->centered_axis >= 0;
}

bool hasShift(const Row& row) {
  const auto* figures = figuresOf(row);
  return figures != nullptr && !figures->shift_of.empty();
}

// Names norms alike in both files: op names differ from format to format.
QString operatorName(const protocol::GraphNode& node) {
  if (node.role == NodeClass::LayerNorm) return ChangeTable::tr("LayerNorm");
  return node.role == NodeClass::RmsNorm ? ChangeTable::tr("RMSNorm") : text(node.label);
}

QString scopeOf(const protocol::GraphDocument& graph, const protocol::GraphNode& node) {
  const bool known = node.scope >= 0 && static_cast<size_t>(node.scope) < graph.scopes.size();
  return known ? text(graph.scopes[static_cast<size_t>(node.scope)].path) : QString();
}

// Returns the file's name for the first output of a node.
QString resultOf(const protocol::GraphDocument& graph, const protocol::GraphNode& node) {
  const bool known = !node.outputs.empty() && static_cast<size_t>(node.outputs.front()) < graph.values.size();
  return known ? text(graph.values[static_cast<size_t>(node.outputs.front())].name) : QString();
}

// "layer.1 · mean · x.7": the name of a TorchScript operator is its module's, which has several of them; that of an
// ONNX operator is its own, "/layer.1/ReduceMean".
QString operatorPlace(const protocol::GraphDocument& graph, const protocol::GraphNode& node) {
  const QString name = node.name.empty() ? scopeOf(graph, node) : text(node.name);
  const QString operation = operatorName(node), result = resultOf(graph, node);
  QStringList parts{name};
  if (!name.section(u'/', -1).startsWith(operation, Qt::CaseInsensitive)) parts << operation;
  if (name.isEmpty() || !result.startsWith(name)) parts << result;
  parts.removeAll(QString());
  return parts.join(QStringLiteral(" · "));
}

QString placeOf(const protocol::GraphDocument& graph, const protocol::GraphNode& node, Change::Kind kind) {
  const bool named = kind == Change::Kind::RmsNorm || kind == Change::Kind::Weight;
  return named && !node.name.empty() ? text(node.name) : operatorPlace(graph, node);
}

QString weightName(const ComparedGraphs& graphs, const graphview::WeightPair& pair) {
  const bool left = pair.a >= 0;
  return text((left ? graphs.a : graphs.b)->values[static_cast<size_t>(left ? pair.a : pair.b)].name);
}

// An edit that only one of two plans makes.
Row rowOf(Change change, const protocol::EditInfo& edit) {
  Row row;
  row.where = text(edit.subject.empty() ? edit.text : edit.subject);
  row.mark = editMark(edit.kind);
  row.change = std::move(change);
  return row;
}

Row rowOf(Change change, const ComparedGraphs& graphs) {
  if (change.edit) return rowOf(change, *change.edit);
  Row row;
  const auto *left = graphs.nodeA(change.a), *right = graphs.nodeB(change.b);
  row.where = left != nullptr ? placeOf(*graphs.a, *left, change.kind) : placeOf(*graphs.b, *right, change.kind);
  if (left != nullptr) row.before = operatorName(*left);
  if (right != nullptr) row.after = operatorName(*right);
  row.mark = QChar::fromLatin1(letterOf((right != nullptr ? right : left)->role));
  if (change.kind == Change::Kind::Weight) {
    const QString name = weightName(graphs, change.weights.front());
    if (!name.isEmpty()) row.where = name;
  }
  row.figures.resize(change.weights.size());
  row.change = std::move(change);
  return row;
}

QString tipOf(const Row& row) {
  if (row.change.edit) return text(row.change.edit->text);
  switch (row.change.kind) {
    case Change::Kind::RmsNorm:
    case Change::Kind::Operator:
      return ChangeTable::tr("Another node in its place.");
    case Change::Kind::Added:
      return ChangeTable::tr("The model on the left has no such node there.");
    case Change::Kind::Removed:
      return ChangeTable::tr("The model on the right has no such node there.");
    case Change::Kind::Weight:
      break;
  }
  const auto* figures = figuresOf(row);
  if (figures != nullptr && !figures->reason.empty())
    return ChangeTable::tr("There is no figure: %1.").arg(text(figures->reason));
  if (row.change.weights.front().through)
    return ChangeTable::tr("On the right it is read through nodes that the left lacks, such as a run-time centering.");
  if (hasShift(row)) return ChangeTable::tr("The β of %1 moved into it.").arg(text(figures->shift_of));
  return isCentered(row) ? ChangeTable::tr("The right weight is the left minus its means.")
                         : ChangeTable::tr("The same node with another weight.");
}

// Weights by their figures, behind them what has none.
double largestKey(const Row& row) {
  const auto* figures = figuresOf(row);
  return figures != nullptr && figures->reason.empty() ? figures->max_abs : -1 - static_cast<double>(row.change.kind);
}

ChangeTable::Columns columns() {
  const auto tr = [](const char* words) { return ChangeTable::tr(words); };
  return {{tr("Kind"), tr("The change from left to right."), &Row::kindWord},
          {tr("Where, in order"),
           tr("The weight or module, in execution order."),
           &Row::where,
           {{kSortRole, [](const Row& row) { return row.order; }}}},
          {tr("Largest change"),
           tr("Of a weight, the largest difference of two of its elements."),
           &Row::largest,
           {{kSortRole, largestKey}},
           Qt::AlignRight}};
}

}  // namespace

ChangeClass ChangeRow::kind() const {
  if (change.edit) {
    switch (change.edit->kind) {
      case EditKind::ReplaceNorm:
        return ChangeClass::RmsNorms;
      case EditKind::CenterConstant:
        return ChangeClass::Centered;
      case EditKind::AbsorbShift:
        return ChangeClass::Shifts;
      case EditKind::InsertCentering:
      case EditKind::RestoreMean:
        return ChangeClass::Ops;
      default:
        return ChangeClass::Weights;
    }
  }
  if (change.kind == Change::Kind::RmsNorm) return ChangeClass::RmsNorms;
  if (change.kind != Change::Kind::Weight) return ChangeClass::Ops;
  if (hasShift(*this)) return ChangeClass::Shifts;
  return isCentered(*this) ? ChangeClass::Centered : ChangeClass::Weights;
}

QString ChangeRow::kindWord() const {
  if (change.edit)
    return change.kind == Change::Kind::Added ? ChangeTable::tr("only right") : ChangeTable::tr("only left");
  switch (change.kind) {
    case Change::Kind::RmsNorm:
    case Change::Kind::Operator:
      return ChangeTable::tr("replaced");
    case Change::Kind::Added:
      return ChangeTable::tr("added");
    case Change::Kind::Removed:
      return ChangeTable::tr("removed");
    case Change::Kind::Weight:
      break;
  }
  if (hasShift(*this)) return ChangeTable::tr("shift moved");
  return isCentered(*this) ? ChangeTable::tr("centered") : ChangeTable::tr("changed");
}

QString ChangeRow::largest() const {
  if (change.edit) return editWord(change.edit->kind);
  if (change.kind == Change::Kind::Added) return ChangeTable::tr("new node");
  if (change.kind == Change::Kind::Removed) return ChangeTable::tr("node gone");
  if (change.kind != Change::Kind::Weight) return QStringLiteral("%1 → %2").arg(before, after);
  if (change.weights.front().a < 0) return ChangeTable::tr("new weight");
  if (change.weights.front().b < 0) return ChangeTable::tr("weight gone");
  if (change.weights.front().through) return ChangeTable::tr("through new nodes");
  const auto* known = figuresOf(*this);
  if (known == nullptr) return QStringLiteral("…");
  return known->reason.empty() ? formatNumber(known->max_abs, 2) : QStringLiteral("–");
}

QString ChangeRow::title() const {
  return QStringLiteral("%1: %2").arg(where,
                                      change.a >= 0 && change.b >= 0 && before != after ? largest() : kindWord());
}

ChangeTable::ChangeTable(QObject* parent)
    : RecordTable(columns(),
                  {{MarkRole, [](const Row& row) { return QString(row.mark); }},
                   {ClassRole, [](const Row& row) { return QString::number(static_cast<int>(row.kind())); }},
                   {Qt::ToolTipRole, tipOf}},
                  parent) {}

void ChangeTable::show(ComparedGraphs graphs, std::vector<Change> changes) {
  graphs_ = std::move(graphs);
  std::vector<Row> all;
  std::map<QString, int> seen;  // rows by their words
  for (Change& change : changes) {
    all.push_back(rowOf(std::move(change), graphs_));
    Row& row = all.back();
    row.order = static_cast<int>(all.size());
    const int same = ++seen[row.kindWord() + row.where];
    if (same > 1) row.where += tr(" (%1)").arg(same);
  }
  setRows(std::move(all));
}

std::vector<ChangeTable::Weights> ChangeTable::differingWeights() const {
  std::vector<Weights> weights;
  for (const Row& row : rows()) {
    for (const auto& pair : row.change.weights) {
      if (!pair.same && pair.a >= 0 && pair.b >= 0) weights.emplace_back(pair.a, pair.b);
    }
  }
  return weights;
}

void ChangeTable::setFigures(const std::vector<Weights>& weights, const std::vector<protocol::WeightChange>& changes) {
  std::map<Weights, const protocol::WeightChange*> known;
  for (size_t i = 0; i < std::min(weights.size(), changes.size()); ++i) known.emplace(weights[i], &changes[i]);
  std::vector<Row> all = rows();
  for (Row& row : all) {
    for (size_t i = 0; i < row.figures.size(); ++i) {
      const auto found = known.find({row.change.weights[i].a, row.change.weights[i].b});
      if (found != known.end()) row.figures[i] = *found->second;
    }
  }
  replaceRows(0, std::move(all));
}

std::array<int, kChangeClasses> ChangeTable::counts() const {
  std::array<int, kChangeClasses> counts{rowCount()};
  for (const Row& row : rows()) ++counts[static_cast<size_t>(row.kind())];
  return counts;
}

QString ChangeTable::summary() const {
  const auto counted = counts();
  const auto of = [&](ChangeClass kind) { return counted[static_cast<size_t>(kind)]; };
  const auto ops = [&](Change::Kind kind) {
    return static_cast<int>(std::ranges::count_if(rows(), [&](const Row& row) { return row.change.kind == kind; }));
  };
  if (rowCount() > 0 && row(0).change.edit)
    return tr("Edits: %1 only on the left, %2 only on the right")
        .arg(ops(Change::Kind::Removed))
        .arg(ops(Change::Kind::Added));
  QStringList parts;
  const auto add = [&](int count, const QString& one, const QString& several) {
    if (count > 0) parts << (count == 1 ? one : several.arg(count));
  };
  const bool others = of(ChangeClass::Centered) + of(ChangeClass::Shifts) > 0;
  add(of(ChangeClass::RmsNorms), tr("1 LayerNorm → RMSNorm"), tr("%1 LayerNorm → RMSNorm"));
  add(of(ChangeClass::Centered), tr("1 centered"), tr("%1 centered"));
  add(of(ChangeClass::Shifts), tr("1 shift moved"), tr("%1 shifts moved"));
  add(of(ChangeClass::Weights), others ? tr("1 other weight changed") : tr("1 weight changed"),
      others ? tr("%1 other weights changed") : tr("%1 weights changed"));
  add(ops(Change::Kind::Operator), tr("1 node replaced"), tr("%1 nodes replaced"));
  add(ops(Change::Kind::Added), tr("1 node only on the right"), tr("%1 nodes only on the right"));
  add(ops(Change::Kind::Removed), tr("1 node only on the left"), tr("%1 nodes only on the left"));
  return parts.join(QStringLiteral(" · "));
}

}  // namespace normlens::ui
