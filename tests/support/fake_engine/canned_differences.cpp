#include "tests/support/fake_engine/canned_replies.h"

#include <algorithm>
#include <cmath>

namespace normlens::fake {

namespace {

double roundingOf(const std::string& dtype) {
  return dtype == "float64" ? 2.2e-16 : dtype == "bfloat16" ? 7.8e-3 : dtype == "float16" ? 9.8e-4 : 1.2e-7;
}

protocol::DiffRow rowOf(SiteKind kind, const std::string& name, const std::string& dtype, double error) {
  protocol::DiffRow row;
  row.kind = kind;
  row.name = name;
  row.dtype = dtype;
  row.shape = {1, 16, 64};
  row.max_rel = error;
  row.max_abs = 3.1 * error;
  row.mean_abs = 0.4 * error;
  row.rounding = 0.6 * error;
  row.cosine = 1 - error * error;
  row.worst_index = {0, 3, 41};
  row.worst_a = 1.25;
  row.worst_b = 1.25 + row.max_abs;
  row.ulps = {612, 301, 77, 25, 9, 0, 0};
  row.max_ulp = 7;
  return row;
}

}  // namespace

Result<protocol::DiffResult> diffResult(const CannedModel& model, const protocol::DiffParams& params) {
  if (params.against.find("broken") != std::string::npos) {
    return fail(ErrorCode::Unreadable, params.against + " is not a model");
  }
  protocol::DiffResult result;
  result.dtype = params.dtype.empty() ? "float32" : params.dtype;
  if (result.dtype == "float16") {
    result.error = "there is no kernel for float16 on this device";
    return result;
  }
  result.batches = params.batches;
  const double rounding = roundingOf(result.dtype);
  for (size_t norm = 0; norm < model.normNodes.size(); ++norm) {
    const protocol::GraphNode& node = model.graph.nodes[static_cast<size_t>(model.normNodes[norm])];
    const double error = rounding * (2 + 1.7 * static_cast<double>(norm));
    for (const SiteKind kind : {SiteKind::NormInput, SiteKind::NormOutput}) {
      protocol::DiffRow row = rowOf(kind, node.name, result.dtype, error);
      const bool output = kind == SiteKind::NormOutput;
      row.norm = static_cast<int>(norm);
      row.value = output ? node.outputs.front() : model.normInputs[norm];
      row.node = node.id;
      row.step = node.id + (output ? 1 : 0);
      row.depth = row.step;
      row.aligned = output ? Alignment::Beta : Alignment::Mean;
      row.batch = params.batches - 1;
      result.rows.push_back(row);
    }
  }
  for (const int value : params.values) {
    protocol::DiffRow row =
        rowOf(SiteKind::Value, model.graph.values[static_cast<size_t>(value)].name, result.dtype, 3 * rounding);
    row.value = value;
    row.step = 1000;
    result.rows.push_back(row);
  }
  protocol::DiffRow out = rowOf(SiteKind::Output, "out_0", result.dtype, 20 * rounding);
  out.output = 0;
  out.top1 = 1;
  out.top5 = 0.9875;
  result.rows.push_back(out);
  return result;
}

Result<protocol::TensorPair> tensorPair(const CannedModel&, const protocol::TensorPairParams& params) {
  protocol::TensorPair pair;
  pair.name = "out_0";
  pair.dtype = params.dtype;
  pair.aligned = params.kind == SiteKind::NormInput ? Alignment::Mean : Alignment::None;
  pair.shape = {1, 16, 64};
  pair.rows = 16;
  pair.columns = 64;
  pair.tile = params.tile;
  if (pair.tile.rows < 0) pair.tile.rows = pair.rows - pair.tile.row;
  if (pair.tile.columns < 0) pair.tile.columns = pair.columns - pair.tile.column;
  pair.heat_rows = static_cast<int>(pair.tile.rows);
  pair.heat_columns = static_cast<int>(pair.tile.columns);
  const double error = 20 * roundingOf(params.dtype);
  for (int64_t row = 0; row < pair.tile.rows; ++row) {
    for (int64_t column = 0; column < pair.tile.columns; ++column) {
      const auto place = static_cast<double>((pair.tile.row + row) * 64 + pair.tile.column + column);
      const double a = 2 * std::sin(0.37 * place) * std::cos(0.011 * place), apart = error * std::abs(std::sin(place));
      pair.a.push_back(a);
      pair.b.push_back(a + apart);
      pair.difference.push_back(apart);
      pair.most = std::max(pair.most, apart);
    }
  }
  pair.low = -2;
  pair.high = 2;
  return pair;
}

protocol::ForcedError forcedError(const CannedModel& model, const protocol::ForcedErrorParams& params) {
  if (params.dtype == "float16") return {params.norm, params.dtype, "there is no kernel for float16 on this device"};
  const double rounding = roundingOf(params.dtype);
  const bool wrong = model.postNorm && params.norm > 0;
  return {params.norm, params.dtype, "", wrong ? 0.02 + 0.003 * params.norm : 3 * rounding, 24 * rounding};
}

protocol::WeightChanges weightChanges(const protocol::WeightChangesParams& params) {
  protocol::WeightChanges told;
  for (size_t i = 0; i < params.pairs.size(); ++i) told.changes.push_back({"", 0.25, 2, i == 0 ? 0 : -1, 0, ""});
  return told;
}

}  // namespace normlens::fake
