#include "app/engine/verbs/diff_gate.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>

namespace normlens::engine {
namespace {

using run::DiffRow;

std::vector<const DiffRow*> outputsOf(const run::ModelDiff& diff) {
  std::vector<const DiffRow*> outputs;
  for (const DiffRow& row : diff.rows) {
    if (row.kind == run::SiteKind::Output) outputs.push_back(&row);
  }
  return outputs;
}

bool hasElements(const DiffRow* row) { return graph::elementCount(row->shape).value_or(1) > 0; }

std::string namesOf(const std::vector<const DiffRow*>& rows) {
  std::vector<std::string> names;
  for (const DiffRow* row : rows) names.push_back(row->name);
  return boost::algorithm::join(names, ", ");
}

}  // namespace

std::string whyAbove(const std::vector<DiffColumn>& columns, double limit) {
  const auto done = std::ranges::find_if(columns, [](const DiffColumn& column) { return column.diff.has_value(); });
  if (done == columns.end()) return "the models could not be compared, so --fail-above cannot pass";
  auto outputs = outputsOf(*done->diff);
  if (std::ranges::none_of(outputs, hasElements))
    return "no output has elements, so --fail-above has nothing to compare";
  if (std::ranges::any_of(outputs, [&](const DiffRow* row) { return !(row->diff.maxRel <= limit); }))
    return "the outputs differ by more than --fail-above";
  std::erase_if(outputs, [](const DiffRow* row) { return !row->diff.vacuous; });
  if (outputs.empty()) return {};
  return "not finite anywhere, in both models, so --fail-above has nothing to compare in: " + namesOf(outputs) +
         "; give other inputs, or compare in a wider --dtype";
}

}  // namespace normlens::engine
