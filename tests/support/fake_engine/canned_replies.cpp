#include "tests/support/fake_engine/canned_replies.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>

namespace normlens::fake {

namespace {

bool foldsFree(const CannedModel& model, int norm) { return !model.postNorm || norm == 0; }

bool contains(const std::vector<int>& list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

int constantNamed(const CannedModel& model, const std::string& name) {
  const auto& values = model.graph.values;
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.name == name; });
  return found == values.end() ? -1 : found->id;
}

bool needsOneOf(const CannedModel& model, int norm, const std::vector<int>& constants) {
  const auto& weights = model.weights[static_cast<size_t>(norm)];
  return std::any_of(weights.begin(), weights.end(),
                     [&](const std::string& name) { return contains(constants, constantNamed(model, name)); });
}

bool folds(const CannedModel& model, const protocol::PlanParams& params, int norm) {
  if (contains(params.keep_norms, norm)) return false;
  if (foldsFree(model, norm)) return !needsOneOf(model, norm, params.keep_values);
  return params.policy == Policy::All || params.policy == Policy::Paper ||
         contains(params.center_values, model.normInputs[static_cast<size_t>(norm)]);
}

std::string reasonOf(const CannedModel& model, int norm) {
  if (foldsFree(model, norm)) return "Every path to it ends in a linear layer or an embedding that can be centered.";
  return "The residual comes from LayerNorm " +
         model.graph.nodes[static_cast<size_t>(model.normNodes[static_cast<size_t>(norm) - 1])].name +
         " with γ between 0.61 and 1.38: not zero-mean.";
}

protocol::NormInfo normInfo(const CannedModel& model, int index) {
  const protocol::GraphNode& node = model.graph.nodes[static_cast<size_t>(model.normNodes[static_cast<size_t>(index)])];
  protocol::NormInfo info;
  info.index = index;
  info.name = node.name;
  info.title = model.longNames
                   ? node.name + (index % 2 == 0 ? ".encoder_attention_layer_norm.LayerNormalization"
                                                 : ".cross_attention_layer_norm.Div." + std::to_string(index))
                   : node.name;
  info.scope = node.name;
  info.form = NormForm::Op;
  info.node = node.id;
  info.normalized_shape = {model.width};
  info.eps = 1e-5;
  const bool free = foldsFree(model, index);
  info.verdict = free ? Verdict::Free : Verdict::Blocked;
  info.reason = reasonOf(model, index);
  if (!free) {
    const int blocker = model.normNodes[static_cast<size_t>(index) - 1];
    info.blocker_path = {node.id, node.id - 1, blocker};
    info.blocker = {blocker, model.graph.nodes[static_cast<size_t>(blocker)].inputs[1], "γ varies"};
  }
  info.paper = info.paper_practical = model.postNorm;
  info.has_gamma = info.has_beta = true;
  info.gamma_min = 0.61;
  info.gamma_max = 1.38;
  info.beta_min = -0.382;
  info.beta_max = 0.541;
  return info;
}

// What the norms of `wanted` that fold free need, each weight once.
std::vector<protocol::EditInfo> weightEdits(const CannedModel& model, const std::vector<int>& wanted) {
  std::vector<protocol::EditInfo> edits;
  std::map<std::string, size_t> made;
  for (const int norm : wanted) {
    if (!foldsFree(model, norm)) continue;
    const auto at = static_cast<size_t>(norm);
    for (size_t i = 0; i < model.weights[at].size(); ++i) {
      const std::string& weight = model.weights[at][i];
      const auto [found, isNew] = made.emplace(weight, edits.size());
      if (isNew) {
        const bool tied = weight == "wte.weight";
        const int64_t bytes = tied ? 54016 : 16384;
        edits.push_back(
            {EditKind::CenterConstant,
             "center " + weight + " over 64 columns" + (tied ? " (a copy: lm_head keeps the original)" : ""),
             model.producers[at][i],
             bytes,
             tied ? bytes : 0,
             {},
             {constantNamed(model, weight)},
             weight,
             tied ? "a copy: lm_head keeps the original" : ""});
      }
      edits[found->second].frees.add(norm);
    }
  }
  return edits;
}

}  // namespace

protocol::ModelInfo modelInfo(const CannedModel& model, const std::string& path) {
  protocol::ModelInfo info;
  info.path = path;
  info.format = "torchscript";
  info.modified = model.postNorm ? 1 : 2;
  info.file_bytes = 912384;
  info.parameters = 217664;
  info.parameter_bytes = 870656;
  info.graph = model.graph;
  for (protocol::GraphValue& value : info.graph.values) {
    if (!value.constant) value.shape.clear();
  }
  return info;
}

protocol::ModelInfo foldedInfo(const CannedModel& model, const protocol::PlanParams& params) {
  protocol::ModelInfo info = modelInfo(model, "");
  for (size_t norm = 0; norm < model.normNodes.size(); ++norm) {
    if (!folds(model, params, static_cast<int>(norm))) continue;
    protocol::GraphNode& node = info.graph.nodes[static_cast<size_t>(model.normNodes[norm])];
    node.op = "aten::rms_norm";
    node.label = "rms_norm";
    node.role = NodeClass::RmsNorm;
    node.norm = -1;
  }
  return info;
}

std::vector<protocol::InputSpec> analysisInputs() {
  return {{"input_ids", "int64", {1, 16}, 0, 210, true, "below the 211 rows of the first embedding"}};
}

protocol::Analysis analysis(const CannedModel& model) {
  protocol::Analysis result;
  for (const protocol::GraphValue& value : model.graph.values) {
    if (value.constant) continue;
    result.values.push_back(value);
    result.values.back().has_shape = true;
    result.values.back().dtype = value.name == "input_ids" ? "int64" : "float32";
  }
  const int count = static_cast<int>(model.normNodes.size());
  for (int i = 0; i < count; ++i) {
    result.norms.push_back(normInfo(model, i));
    (foldsFree(model, i) ? result.totals.free : result.totals.blocked) += 1;
    if (result.norms.back().paper) ++result.totals.paper;
  }
  std::vector<int> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  result.edits = weightEdits(model, all);
  result.totals.layer_norms = count;
  result.totals.paper_practical = result.totals.paper;
  result.inputs = analysisInputs();
  return result;
}

void hideShapes(protocol::Analysis& told) {
  told.probe_error = "it took more than 20 s";
  told.advice = {"allow more time", HintKey::TimeOrInputs};
  told.totals = {};
  told.totals.layer_norms = told.totals.unknown = static_cast<int>(told.norms.size());
  told.edits.clear();
  for (protocol::NormInfo& norm : told.norms) {
    norm.verdict = Verdict::Unknown;
    norm.reason = "The model was not run, so the shape of its input is not known.";
    norm.blocker.reset();
    norm.paper = norm.paper_practical = false;
  }
}

protocol::ZeroMeanGraph zeroMeanGraph(const CannedModel& model, int norm) {
  protocol::ZeroMeanGraph graph;
  graph.norm = norm;
  const auto at = static_cast<size_t>(norm);
  const bool free = foldsFree(model, norm);
  graph.vertices.push_back({model.normNodes[at], NodeClass::LayerNorm, ""});
  for (const protocol::GraphNode& node : model.graph.nodes) {
    if (node.id >= model.normNodes[at]) break;
    const bool producer = contains(model.producers[at], node.id);
    const bool afterFirst = node.id > model.producers[at].front();
    if (producer)
      graph.vertices.push_back({node.id, node.role == NodeClass::LayerNorm ? NodeClass::Opaque : NodeClass::Linear,
                                node.role == NodeClass::LayerNorm ? "γ varies" : "centered"});
    if (node.role == NodeClass::Residual && afterFirst) graph.vertices.push_back({node.id, NodeClass::Residual, ""});
    if (producer || (node.role == NodeClass::Residual && afterFirst))
      graph.values.insert(graph.values.end(), node.outputs.begin(), node.outputs.end());
  }
  for (const std::string& weight : model.weights[at]) graph.leaves.push_back(weight + (free ? ": centered" : ""));
  return graph;
}

// The input of a norm that folds is zero-mean after the plan; nothing is now but the first of all.
protocol::ZeroMeanMap zeroMeanMap(const CannedModel& model, const protocol::PlanParams& params) {
  protocol::ZeroMeanMap map;
  for (size_t norm = 0; norm < model.normInputs.size(); ++norm) {
    const bool folded = folds(model, params, static_cast<int>(norm));
    (norm == 0 ? map.now : folded ? map.planned : map.not_zero).push_back(model.normInputs[norm]);
  }
  return map;
}

// A layer is felt as far as the next norm.
protocol::ShiftCone shiftCone(const CannedModel& model, int node) {
  protocol::ShiftCone cone;
  const auto& nodes = model.graph.nodes;
  const auto next = std::find_if(model.normNodes.begin(), model.normNodes.end(), [&](int norm) { return norm > node; });
  if (next == model.normNodes.end() || nodes[static_cast<size_t>(node)].role != NodeClass::Linear) {
    cone.reason = "The plan centers none of its weights.";
    return cone;
  }
  for (int at = node; at < *next; ++at) {
    const auto& outputs = nodes[static_cast<size_t>(at)].outputs;
    cone.values.insert(cone.values.end(), outputs.begin(), outputs.end());
  }
  cone.ends = {*next};
  return cone;
}

protocol::NormState normState(const CannedModel& model, const protocol::PlanParams& params, int norm) {
  protocol::NormState state;
  state.norm = norm;
  const bool free = foldsFree(model, norm);
  if (!folds(model, params, norm)) {
    state.state = NormOutcome::Kept;
    state.because = contains(params.keep_norms, norm) ? "you keep it"
                    : free                            ? "a weight that it needs is left as it is"
                                                      : "its own centering costs more than it saves";
  } else {
    state.state = free ? NormOutcome::Folded : NormOutcome::FoldedWithCentering;
    state.counted = !free;
  }
  return state;
}

protocol::PlanInfo plan(const CannedModel& model, protocol::PlanParams params, bool runs) {
  protocol::PlanInfo info;
  for (int norm = 0; !runs && norm < static_cast<int>(model.normNodes.size()); ++norm)
    params.keep_norms.push_back(norm);
  info.policy = params.policy;
  info.layer_norms = static_cast<int>(model.normNodes.size());
  if (params.prices == protocol::Prices::Measured) info.prices = {16, 64, 3.4, 2.1, 1.9, 1.2, 1.4, 1.8, 2.0};
  for (int norm = 0; norm < info.layer_norms; ++norm) {
    if (folds(model, params, norm)) info.folded.push_back(norm);
  }
  info.edits = weightEdits(model, info.folded);
  info.tensors_centered = static_cast<int>(info.edits.size());
  for (const protocol::EditInfo& edit : info.edits) {
    info.bytes_centered += edit.bytes;
    info.bytes_grown += edit.bytes_grown;
  }
  for (const int norm : info.folded) {
    const int node = model.normNodes[static_cast<size_t>(norm)];
    const std::string name = normInfo(model, norm).name;
    if (!foldsFree(model, norm)) {
      info.edits.push_back({EditKind::InsertCentering,
                            "center the input of " + name + " at run time",
                            node,
                            0,
                            0,
                            {norm},
                            {model.normInputs[static_cast<size_t>(norm)]},
                            "the input of " + name,
                            {}});
      ++info.centerings;
    }
    info.edits.push_back(
        {EditKind::ReplaceNorm, "replace " + name + " by an RMSNorm", node, 0, 0, {norm}, {}, name, {}});
  }
  for (int norm = 0; norm < info.layer_norms; ++norm) info.norms.push_back(normState(model, params, norm));
  return info;
}

protocol::CenterPreview preview(const CannedModel& model, int value) {
  for (size_t norm = 0; norm < model.normInputs.size(); ++norm) {
    if (model.normInputs[norm] != value || foldsFree(model, static_cast<int>(norm))) continue;
    return {
        true, "Subtracts the mean over 64 channels at run time, before the norm reads it.", {static_cast<int>(norm)}};
  }
  return {false, "A linear layer reads the channels of this value, so a shift would change the output.", {}};
}

protocol::FoldResult foldResult(const CannedModel& model, const protocol::FoldParams& params) {
  protocol::FoldResult result;
  result.plan = plan(model, params.plan);
  result.fold_ms = 1.84;
  protocol::VerifyResult proof;
  proof.algebra_done = proof.file_done = true;
  proof.algebra = {3.2e-16, 4.4e-16, 1e-10};
  proof.file = {2.1e-7, 3.1e-7, 6 * 2.6e-7};
  proof.file_dtype = "float32";
  proof.noise_floor = 2.6e-7;
  proof.exact = params.plan.policy != Policy::Paper;
  if (!*proof.exact) {
    proof.algebra = {0.014, 0.029, 1e-10};
    proof.first_diverging = normInfo(model, 1).name;
    result.reason = "The folded model differs from the original by 3e-2.";
  }
  result.ok = *proof.exact;
  result.verify = proof;
  if (result.ok) result.proved = "2026-11-30T12:00:00Z";
  return result;
}

namespace {

protocol::TensorFigures figuresOf(int value, bool centered) {
  protocol::TensorFigures figures;
  figures.min = -0.413;
  figures.max = 0.391;
  figures.mean = centered ? 0 : 0.0007;
  figures.deviation = 0.09;
  for (int bin = 0; bin < 64; ++bin) {
    const double x = (bin - 31.5) / 10;
    figures.histogram.push_back(static_cast<int64_t>(1000 * std::exp(-x * x / 2)));
  }
  for (int cell = 0; cell < 32 * 96; ++cell) {
    const double bias = centered ? 0 : 0.05 * std::sin(0.7 * (cell % 96));
    figures.heat.push_back(0.09 * std::sin(12.9898 * cell + value) + bias);
  }
  figures.largest_column_mean = centered ? 1.2e-9 : 0.011;
  return figures;
}

}  // namespace

protocol::TensorStats tensorStats(const CannedModel& model, int value) {
  const protocol::GraphValue& constant = model.graph.values[static_cast<size_t>(value)];
  protocol::TensorStats stats;
  stats.name = constant.name;
  stats.dtype = constant.dtype;
  stats.shape = constant.shape;
  stats.low = -0.424;
  stats.high = 0.402;
  stats.heat_rows = 32;
  stats.heat_columns = 96;
  stats.before = figuresOf(value, false);
  if (constant.shape.size() < 2) return stats;
  stats.after = figuresOf(value, true);
  for (int i = 0; i < 96; ++i) {
    stats.column_means.push_back(0.011 * std::sin(1.7 * i + value) * std::cos(0.31 * i * i));
  }
  return stats;
}

protocol::InputsInfo inputsInfo(const protocol::InputsParams& params) {
  protocol::InputsInfo info;
  protocol::InputSpec spec = analysisInputs().front();
  if (!params.npz.empty()) {
    spec.shape = {4, 12};
    spec.assumed.clear();
  }
  for (const std::string& text : params.specs) {
    const size_t open = text.find('['), close = text.find(']');
    spec.dtype = text.substr(text.find('=') + 1, open - text.find('=') - 1);
    spec.assumed.clear();
    spec.shape.clear();
    std::stringstream sizes(text.substr(open + 1, close - open - 1));
    for (std::string size; std::getline(sizes, size, ',');) spec.shape.push_back(std::stoll(size));
  }
  info.inputs = {spec};
  return info;
}

protocol::ProbeResult probe(const CannedModel& model, const protocol::ProbeParams& params) {
  protocol::ProbeResult result;
  result.dtype = "float32";
  for (size_t i = 0; i < model.normNodes.size(); ++i) {
    protocol::ProbeRow row;
    const double mean = params.folded ? 0 : 4.0 / static_cast<double>(i + 1);  // degrees from 90
    row.name = row.title = "norm " + std::to_string(i);
    row.kind = params.folded ? protocol::ProbedKind::RmsNorm : protocol::ProbedKind::LayerNorm;
    row.norm = static_cast<int>(i);
    row.node = model.normNodes[i];
    row.width = model.width;
    row.input = {90 - mean, mean / 3, 2.0 + static_cast<double>(i), 0.2, mean * mean / 3283, 0, 16, 0, 0};
    row.output = {90.5, 0.4, 8, 0, 1e-4, 0, 16, 0, 0};
    row.random = {90, 7.1, 7.16};
    row.bare_angle_deg = 90;
    row.input_angles = {88 - mean, 0.5, {1, 3, 6, 4, 2}};
    row.output_angles = {90, 0.5, {5, 11}};
    row.random_angles = {76, 7, {1, 8, 14, 7, 2}};
    if (!params.folded) row.swap = {0.08 / static_cast<double>(i + 1), 0.07 / static_cast<double>(i + 1)};
    result.rows.push_back(row);
  }
  result.findings = {params.folded ? "its norms get inputs at exactly 90°" : "its norms get inputs near 90°"};
  return result;
}

// The swaps of the first half are noticed, those of the second hardly.
protocol::ProbeSwaps probeSwaps(const CannedModel& model, const protocol::ProbeSwapsParams& params) {
  protocol::ProbeSwaps swaps;
  swaps.dtype = "float32";
  swaps.hardly = params.hardly;
  const auto error = [](int norm, double most) { return protocol::ForcedError{norm, "float32", {}, most, 1.7e-6}; };
  const auto norms = static_cast<int>(model.normNodes.size());
  for (int norm = 0; norm < norms; ++norm) {
    const bool noticed = norm < norms / 2;
    swaps.swaps.push_back({norm, error(norm, noticed ? 4e-2 : 1e-2), error(norm, 4e-7),
                           noticed ? protocol::Notices::Yes : protocol::Notices::Hardly});
  }
  swaps.all = error(protocol::kAllNorms, 0.21);
  swaps.findings = {std::to_string(norms - norms / 2) +
                    " could be replaced, one at a time, by a plain RMSNorm with less than 3% change in the outputs"};
  return swaps;
}

protocol::Targets targets() {
  return {{{"torch", "torch", "portable", "aten::rms_norm", "aten::rms_norm, fused by torch.compile", "sums in float32",
            "before 2.4 there is no rms_norm", "torch 2.15.0, 2026-11-30", false, true},
           {"coreml", "Core ML", "primitives", "pow, mean, add, rsqrt, mul", "not measured",
            "squares in float16 unless compute_precision is FLOAT32", "", "coremltools' issues", true, false},
           {"normlens", "torch with libnormlens_ops.so", "fast", "normlens::rms_norm", "one kernel", "sums in float32",
            "the library is loaded before the model", "torch 2.15.0, 2026-11-30", false, true},
           {"twin", "Twin of torch", "standard", "aten::rms_norm", "as torch", "sums in float32", "", "its twin", false,
            false}}};
}

protocol::Report report(const protocol::ReportParams& params) {
  protocol::Report made;
  made.text = nameOf(params.format) + " report of " + params.model + (params.bench ? ", measured" : "");
  if (!params.graph) return made;
  for (const auto& picture : params.graph->pictures) made.text += "\n" + picture.title + "\n" + picture.svg;
  for (const auto& place : params.graph->places) made.text += "\nplace of " + std::to_string(place.norms.size());
  return made;
}

namespace {

constexpr double kRows = 16;

protocol::StreamFigures scaled(double all, double fold, double narrow) { return {all, all * fold, all * narrow}; }

}  // namespace

protocol::StreamReport streams(const CannedModel& model, const protocol::StreamParams& params) {
  protocol::StreamReport report;
  const auto norms = static_cast<int>(model.normNodes.size());
  protocol::StreamInfo stream;
  stream.channels = stream.width = model.width;
  for (int norm = 0; norm < norms; ++norm) stream.norms.add(norm);
  stream.adds = norms - 1;
  if (model.postNorm) {
    stream.refused =
        "its residual sum is read by norm 1 alone, and the next block reads that norm's output: it is post-norm";
    report.reason = "the residual stream cannot be narrowed, because " + stream.refused;
    report.streams = {stream};
    return report;
  }
  stream.width = params.padding == "none" ? model.width - 1 : model.width;
  stream.restored = 1;
  report.streams = {stream};
  const auto d = static_cast<double>(model.width), share = static_cast<double>(stream.width) / d;
  report.norm_flops = scaled(7 * d * kRows * norms, 4.0 / 7, 4 * share / 7);
  report.linear_flops = scaled(24 * d * d * kRows, 1, share);
  report.stream_bytes = scaled(4 * d * kRows * norms, 1, share);
  report.weight_bytes = scaled(48 * d * d, 1, 0.2 + 0.8 * share);
  return report;
}

protocol::NarrowResult narrow(const CannedModel& model, const protocol::NarrowParams& params) {
  protocol::NarrowResult result;
  result.streams = streams(model, params.streams);
  result.reason = result.streams.reason;
  if (!result.reason.empty()) return result;
  const bool proved = params.path.find("unproved") == std::string::npos;
  protocol::FoldParams fold;
  fold.plan = params.streams.plan;
  if (!proved) fold.plan.policy = Policy::Paper;
  result.verify = foldResult(model, fold).verify;
  result.narrow_ms = 2.5;
  if (!proved) result.reason = "the narrow model gives outputs that differ";
  if (!proved && !params.force) return result;
  std::ofstream(params.path) << "narrow, padding " << params.streams.padding << "\n";
  result.written =
      protocol::ExportResult{params.path, static_cast<int64_t>(std::filesystem::file_size(params.path)), 0.7, {}};
  return result;
}

}  // namespace normlens::fake
