#include "ui/window/workspace/changes/change_details.h"
#include "ui/words/format.h"

#include <QCoreApplication>

namespace normlens::ui {

namespace {

using graphview::Change;
using graphview::WeightPair;

QString tr(const char* words) { return QCoreApplication::translate("ChangeDetails", words); }

const protocol::GraphValue* valueOf(const std::shared_ptr<const protocol::GraphDocument>& graph, int id) {
  return id < 0 ? nullptr : &graph->values[static_cast<size_t>(id)];
}

QString typeAndShape(const protocol::GraphValue& value) {
  return value.has_shape ? QStringLiteral("%1 %2").arg(text(value.dtype), formatShape(value.shape)) : text(value.dtype);
}

QString changeOf(const protocol::WeightChange& change) {
  if (!change.reason.empty()) return text(change.reason);
  return change.max_original > 0
             ? tr("by up to %1, %2 of its largest element")
                   .arg(formatNumber(change.max_abs, 2), formatPercent(change.max_abs / change.max_original))
             : tr("by up to %1").arg(formatNumber(change.max_abs, 2));
}

// γ and β of a norm that is one op; else what the file calls it.
QString nameOf(const ChangeRow& row, const ComparedGraphs& graphs, size_t which) {
  const WeightPair& pair = row.change.weights[which];
  const auto* value = pair.a >= 0 ? valueOf(graphs.a, pair.a) : valueOf(graphs.b, pair.b);
  const QString name = text(value->name);
  if (row.change.kind == Change::Kind::RmsNorm && row.change.weights.size() <= 2 && pair.a >= 0) {
    if (name.endsWith(QLatin1String("bias")) || which == 1) return QStringLiteral("β");
    return QStringLiteral("γ");
  }
  return name.section(u'.', -1);
}

QString stateOf(const ChangeRow& row, const ComparedGraphs& graphs, size_t which) {
  const WeightPair& pair = row.change.weights[which];
  if (pair.same) return tr("same, %1").arg(typeAndShape(*valueOf(graphs.a, pair.a)));
  if (pair.b < 0) return tr("only on the left, %1").arg(typeAndShape(*valueOf(graphs.a, pair.a)));
  if (pair.a < 0) return tr("only on the right, %1").arg(typeAndShape(*valueOf(graphs.b, pair.b)));
  return row.figures[which] ? tr("changed %1").arg(changeOf(*row.figures[which])) : tr("changed");
}

void addFigures(QVector<Property>& all, const protocol::WeightChange& change) {
  if (!change.reason.empty()) {
    all.append({tr("no figures"), text(change.reason)});
    return;
  }
  all.append({tr("largest change"), formatNumber(change.max_abs), tr("The largest difference of two elements.")});
  if (change.max_original > 0) {
    all.append(
        {tr("of the largest element"), formatPercent(change.max_abs / change.max_original),
         tr("Its share of the largest magnitude on the left, which is %1.").arg(formatNumber(change.max_original))});
  }
  if (!change.shift_of.empty()) {
    all.append({tr("shift moved in"), tr("β of %1").arg(text(change.shift_of)),
                tr("The right tensor is the left plus the linear layer's weight times that β, up to rounding.")});
  }
  if (change.centered_axis >= 0) {
    all.append({tr("centered"),
                change.centered_part == 0
                    ? tr("mean along axis %1 is gone").arg(change.centered_axis)
                    : tr("means of %1 each along axis %2 are gone").arg(change.centered_part).arg(change.centered_axis),
                tr("The right tensor is the left minus its means along this axis, up to rounding.")});
  }
}

void addWeight(QVector<Property>& all, const ChangeRow& row, const ComparedGraphs& graphs) {
  const WeightPair& pair = row.change.weights.front();
  const auto side = [&](const QString& name, const protocol::GraphValue* value) {
    if (value == nullptr) {
      all.append({name, tr("none")});
    } else {
      all.append({name, QStringLiteral("%1 %2").arg(text(value->name), typeAndShape(*value))});
    }
  };
  side(tr("left"), valueOf(graphs.a, pair.a));
  side(tr("right"), valueOf(graphs.b, pair.b));
  if (row.figures.front()) addFigures(all, *row.figures.front());
}

}  // namespace

QVector<Property> changeDetails(const ChangeRow& row, const ComparedGraphs& graphs) {
  QVector<Property> all;
  if (row.change.edit) {
    const protocol::EditInfo& edit = *row.change.edit;
    all.append({tr("edit"), text(edit.text)});
    all.append({tr("needed by"), edit.frees.size() == 1 ? tr("1 norm") : tr("%1 norms").arg(edit.frees.size())});
    return all;
  }
  if (row.change.kind == Change::Kind::Weight) {
    addWeight(all, row, graphs);
    all.append({tr("read by"), row.after});
    return all;
  }
  const auto side = [&](const QString& name, const protocol::GraphNode* node) {
    all.append({name, node != nullptr ? text(node->op) : tr("none")});
  };
  side(tr("left"), graphs.nodeA(row.change.a));
  side(tr("right"), graphs.nodeB(row.change.b));
  for (size_t which = 0; which < row.change.weights.size(); ++which) {
    all.append({nameOf(row, graphs, which), stateOf(row, graphs, which)});
  }
  return all;
}

}  // namespace normlens::ui
