// Messages between the window and the engine, as plain structs. JSON-RPC 2.0, method names in methods.h.
//
// No torch, no onnx, no Qt: both ends include this. Ids are those of the engine's graph and are valid until the next
// `open`. Sizes in bytes, times in milliseconds. Every struct maps to a JSON object of the fields that are listed
// behind it (json.h); a missing field takes the default below, an unknown one is ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/index_ranges.h"
#include "core/base/words/graph.h"
#include "core/base/words/hint.h"
#include "core/base/words/proof.h"
#include "core/base/words/words.h"
#include "core/protocol/field_list.h"
#include "core/protocol/plan_messages.h"

namespace normlens::protocol {

// The graph as the window draws it. See messages.h for the rules.
struct GraphNode {
  int id = 0;
  std::string op;     // "aten::layer_norm"
  std::string label;  // "layer_norm"
  std::string name;   // module path, may be empty
  int scope = 0;
  NodeClass role = NodeClass::Opaque;
  bool helper = false;      // hidden by default
  std::vector<int> inputs;  // value ids
  std::vector<int> outputs;
  std::vector<std::pair<std::string, std::string>> attributes;  // name, printed value
  std::string source;
  int norm = -1;  // index of the LayerNorm it belongs to, or -1
};
NORMLENS_FIELDS(GraphNode, id, op, label, name, scope, role, helper, inputs, outputs, attributes, source, norm)

struct GraphValue {
  int id = 0;
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  bool has_shape = false;
  bool constant = false;  // weight or literal: not drawn as an edge
  bool stream = false;    // lies on a residual stream

  bool operator==(const GraphValue&) const = default;
};
NORMLENS_FIELDS(GraphValue, id, name, dtype, shape, has_shape, constant, stream)

struct GraphScope {
  int id = 0;
  std::string name;  // "ln_1"
  std::string path;  // "transformer.h.0.ln_1"
  std::string type;  // class name
  int parent = -1;   // -1: the model itself, id 0
};
NORMLENS_FIELDS(GraphScope, id, name, path, type, parent)

struct GraphDocument {
  std::vector<GraphNode> nodes;  // execution order; includes one node per graph input and output (roles I, G)
  std::vector<GraphValue> values;
  std::vector<GraphScope> scopes;
};
NORMLENS_FIELDS(GraphDocument, nodes, values, scopes)

inline constexpr int kProtocolVersion = 6;  // grows with every change that an older other end would misread

NORMLENS_FIELDS(Hint, words, key)

// NoParams are the parameters of methods that take none.
struct NoParams {
  bool operator==(const NoParams&) const = default;
};
NORMLENS_FIELDS(NoParams)

// ---- initialize: InitializeParams -> EngineInfo. The first request; any other before it is refused.
struct InitializeParams {
  int protocol = kProtocolVersion;
  std::string client;
};
NORMLENS_FIELDS(InitializeParams, protocol, client)

struct EngineInfo {
  int protocol = kProtocolVersion;
  std::string version;
  std::string torch;                 // "2.15.0"; empty: .pt and .pt2 files cannot be opened
  std::string onnx_runtime;          // "1.31.0"; empty: ONNX models cannot be run
  std::vector<std::string> formats;  // "torchscript", "onnx": what it reads
  std::string device;                // "CPU" or the GPU's name
  std::string no_gpu;                // why there is none, and what would mend it; empty: there is one
  int64_t pid = 0;
  int64_t memory_bytes = 0;  // resident set of the engine
  std::string confinement;   // Keeps a model from the machine: "full", "calls", "none".
  std::string unconfined;    // one sentence on what is missing there; empty: nothing
};
NORMLENS_FIELDS(EngineInfo, protocol, version, torch, onnx_runtime, formats, device, no_gpu, pid, memory_bytes,
                confinement, unconfined)

// ---- check_gpu: NoParams -> GpuCheck. Tries the first GPU with what a measurement needs of it.
struct GpuStep {
  std::string step;  // driver, start, torch, memory, own_kernel, torch_kernel, graph: core/formats/gpu_check.h
  double ms = 0;
  std::string error, hint;  // empty: it works
};
NORMLENS_FIELDS(GpuStep, step, ms, error, hint)

struct GpuCheck {
  std::vector<GpuStep> steps;  // up to the first that failed
};
NORMLENS_FIELDS(GpuCheck, steps)

// ---- open: OpenParams -> ModelInfo. Structure only: no shapes yet.
struct OpenParams {
  std::string path;
  std::string model;         // Chooses in a file that holds several; empty: as the format chooses.
  std::string inputs;        // .npz file, or empty
  double time_limit = 0;     // seconds that a run may take; 0: the engine's own limits
  int64_t memory_limit = 0;  // bytes; the same
};
NORMLENS_FIELDS(OpenParams, path, model, inputs, time_limit, memory_limit)

struct ModelInfo {
  std::string path;
  std::string format;               // "torchscript"
  std::string model;                // its name in the file; empty: models of this format have none
  std::vector<std::string> models;  // the names of all that the file holds; empty: it is the only one
  int64_t modified = 0;             // when the file was last written: nanoseconds since 1970
  int64_t file_bytes = 0;
  int64_t parameters = 0;
  int64_t parameter_bytes = 0;
  std::string note;        // e.g. "the model is quantised"; may be empty
  std::string cannot_run;  // why it can be neither run nor folded, as a sentence; empty: nothing is in the way
  GraphDocument graph;
};
NORMLENS_FIELDS(ModelInfo, path, format, model, models, modified, file_bytes, parameters, parameter_bytes, note,
                cannot_run, graph)

// ---- read_graph: ReadGraphParams -> ModelInfo. A model to look at beside the open one, which stays open.
struct ReadGraphParams {
  std::string path;  // empty: the folded model
};
NORMLENS_FIELDS(ReadGraphParams, path)

// ---- weight_digests: WeightDigestsParams -> WeightDigests. What two models' weights are compared by.
struct WeightDigestsParams {
  bool other = false;  // false: of the open model; true: of the one that path names, as for read_graph
  std::string path;
};
NORMLENS_FIELDS(WeightDigestsParams, other, path)

struct WeightDigests {
  std::vector<int> values;           // those that are constants
  std::vector<std::string> digests;  // One for each; equal: the same type, shape and bits.
};
NORMLENS_FIELDS(WeightDigests, values, digests)

// A verdict may depend on this, which the file does not contain: that an input has size 1 along an axis in every run,
// or that a value which is left out of a sum is finite there.
struct SizeCondition {
  std::string input;   // or the value
  int axis = -1;       // from the end: -1 is the last; one more than the input has: it has no further axis; 0: no size
  std::string text;    // "gate has size 1 in its last axis"
  std::string tested;  // how it was tried, in words
};
NORMLENS_FIELDS(SizeCondition, input, axis, text, tested)

// A blocked norm has a blocker where one thing alone blocks it: the nearest value on the way to it that is not
// zero-mean and cannot be made so.
struct Blocker {
  int node = -1;       // that makes it, or that reads the tensor which cannot be centered
  int gamma = -1;      // value id of the constant whose numbers would have to be equal; -1: that is not the reason
  std::string reason;  // a few words: "γ varies"
};
NORMLENS_FIELDS(Blocker, node, gamma, reason)

// ---- analyze: AnalyzeParams -> Analysis. Runs the model once for shapes, then the analysis.
struct NormInfo {
  int index = 0;
  std::string name, title;  // The file's name, and one to be read, with its module's path.
  std::string scope;
  NormForm form = NormForm::Op;
  NormType kind = NormType::LayerNorm;  // a GroupNorm or InstanceNorm that is a LayerNorm of groups of channels
  int node = -1;
  std::vector<int64_t> normalized_shape;  // of one group
  int groups = 1;                         // in which the channels have means of their own
  double eps = 0;
  Verdict verdict = Verdict::Unknown;
  std::string reason;  // one plain sentence
  int centerings = 0;
  IndexRanges shared_with;                   // other norms that the same centerings free
  std::vector<int> blocker_path;             // node ids from the norm to the blocker, blocked only
  std::optional<Blocker> blocker;            // nullopt: it folds, or nothing but the norm itself is in the way
  std::vector<SizeCondition> holds_if;       // all of them; empty: the verdict holds in every run
  std::vector<SizeCondition> would_fold_if;  // not taken for granted: a run was seen in which they do not hold
  bool paper = false, paper_practical = false, paper_strict = false;
  double gamma_min = 0, gamma_max = 0, beta_min = 0, beta_max = 0;
  bool has_gamma = false, has_beta = false;
};
NORMLENS_FIELDS(NormInfo, index, name, title, scope, form, kind, node, normalized_shape, groups, eps, verdict, reason,
                centerings, shared_with, blocker_path, blocker, paper, paper_practical, paper_strict, gamma_min,
                gamma_max, beta_min, beta_max, has_gamma, has_beta, holds_if, would_fold_if)

struct OtherNormInfo {
  std::string name, kind;
  int node = -1;
  NormForm form = NormForm::Op;       // or Decomposed
  std::optional<Verdict> verdict;     // nullopt: it takes no mean that a fold could leave out
  std::string reason;                 // a sentence without its capital
  std::optional<Verdict> weightless;  // of an RMSNorm with a weight: whether that can move into the linears behind it
  std::string weightless_reason;      // a sentence without its capital
};
NORMLENS_FIELDS(OtherNormInfo, name, kind, node, form, verdict, reason, weightless, weightless_reason)

struct Totals {
  int layer_norms = 0, free = 0, with_centering = 0, blocked = 0, unknown = 0;
  int paper = 0, paper_practical = 0, paper_strict = 0;  // Count those that are not unknown.
};
NORMLENS_FIELDS(Totals, layer_norms, free, with_centering, blocked, unknown, paper, paper_practical, paper_strict)

struct InputSpec {
  std::string name, dtype;
  std::vector<int64_t> shape;
  double low = 0, high = 1;  // Bound the numbers drawn.
  bool uniform = true;       // false: drawn from normal(0, 1), whatever low and high are
  std::string assumed;       // States the assumption and its reason; empty when given by the user.
};
NORMLENS_FIELDS(InputSpec, name, dtype, shape, low, high, uniform, assumed)

struct AnalyzeParams {
  bool early = false;  // where a run takes long: what follows without one, which an analysis that is not early confirms
};
NORMLENS_FIELDS(AnalyzeParams, early)

struct Analysis {
  std::vector<GraphValue> values;  // those whose dtype or shape is news
  std::vector<NormInfo> norms;
  std::vector<EditInfo> edits;  // They make the norms' inputs zero-mean; the norms' replacement is not listed.
  std::vector<OtherNormInfo> other_norms;
  Totals totals;
  std::vector<InputSpec> inputs;
  std::vector<std::string> unused_arrays;  // Arrays of the file of inputs: no input has their name.
  std::string probe_error;                 // why the model could not be run; empty when it ran
  Hint advice;                             // Makes it run, and unknown verdicts known; empty: nothing does.
  bool never_runs = false;                 // ... and no other inputs would change that
  bool early = false;                      // shapes were inferred; no run has shown them yet
  std::string note;                        // a sentence on what was found, or was not; may be empty
};
NORMLENS_FIELDS(Analysis, values, norms, edits, other_norms, totals, inputs, unused_arrays, probe_error, advice,
                never_runs, early, note)

// ---- set_inputs: InputsParams -> InputsInfo. What the next analyze runs the model with; refused, the choice before
// stays.
struct InputsParams {
  std::string npz;                  // a .npz or .npy file; empty: drawn by the specs
  std::vector<std::string> specs;   // as on the command line: "in_0=int64[1,16]:0..199"; inputs left out are guessed
  std::vector<std::string> assume;  // sizes to rely on whatever runs show, as on the command line: "gate[-1]=1"
  bool strict = false;              // rely on no others
};
NORMLENS_FIELDS(InputsParams, npz, specs, assume, strict)

struct InputsInfo {
  std::vector<InputSpec> inputs;
};
NORMLENS_FIELDS(InputsInfo, inputs)

// ---- zero_mean_graph: NormParams -> ZeroMeanGraph. What decides one norm.
struct NormParams {
  int norm = 0;
};
NORMLENS_FIELDS(NormParams, norm)

struct ZeroMeanVertex {
  int node = -1;
  NodeClass vertex_class = NodeClass::Opaque;
  std::string note;  // "centered", "opaque: GELU is not linear", ...
};
NORMLENS_FIELDS(ZeroMeanVertex, node, vertex_class, note)

struct ZeroMeanGraph {
  int norm = 0;
  std::vector<ZeroMeanVertex> vertices;
  std::vector<int> values;          // edges that belong to it
  std::vector<std::string> leaves;  // constants and inputs at its border, with what happens to each
};
NORMLENS_FIELDS(ZeroMeanGraph, norm, vertices, values, leaves)

// ---- zero_mean_map: PlanParams -> ZeroMeanMap. The values that LayerNorms depend on, by whether they have zero mean.
struct ZeroMeanMap {
  std::vector<int> now;       // as the model is, for every input
  std::vector<int> planned;   // not yet, but after the plan
  std::vector<int> not_zero;  // neither
};
NORMLENS_FIELDS(ZeroMeanMap, now, planned, not_zero)

// ---- shift_cone: ShiftConeParams -> ShiftCone. How far it is felt that the plan centers a layer's weights.
struct ShiftConeParams {
  int node = 0;
  PlanParams plan;
};
NORMLENS_FIELDS(ShiftConeParams, node, plan)

struct ShiftCone {
  std::vector<int> values;  // those that differ from the original's by a shift
  std::vector<int> ends;    // nodes that do not notice it any more
  std::string reason;       // why there is none; empty otherwise
};
NORMLENS_FIELDS(ShiftCone, values, ends, reason)

// ---- preview_center: CenterParams -> CenterPreview. 'Center here' before it is done.
struct CenterParams {
  int value = 0;
};
NORMLENS_FIELDS(CenterParams, value)

struct CenterPreview {
  bool allowed = false;
  std::string reason;  // why not, or what it does
  std::vector<int> frees;
};
NORMLENS_FIELDS(CenterPreview, allowed, reason, frees)

// ---- fold: FoldParams -> FoldResult. Applies the plan in memory and proves it.
enum class ProofParts : uint8_t { Auto, Whole, Sections };  // Auto: in sections where the whole does not fit in memory
NORMLENS_NAMES(ProofParts, "auto", "whole", "sections")

struct FoldParams {
  PlanParams plan;
  std::string norm = "portable";
  bool verify = true;
  ProofParts proof = ProofParts::Auto;
};
NORMLENS_FIELDS(FoldParams, plan, norm, verify, proof)

struct ErrorPair {
  double max_abs = 0, max_rel = 0;
  double limit = 0;  // that max_rel must not exceed
};
NORMLENS_FIELDS(ErrorPair, max_abs, max_rel, limit)

// max_rel against the float64 copy of the original.
struct FromExact {
  double original = 0, folded = 0;
};
NORMLENS_FIELDS(FromExact, original, folded)

struct VerifyResult {
  bool algebra_done = false;
  ErrorPair algebra;           // float64
  std::string algebra_reason;  // why float64 was impossible
  bool sample_only = false;    // the original refused all other inputs that were tried
  bool file_done = false;
  ErrorPair file;           // the file's own type
  std::string file_reason;  // why the files were not compared
  std::string file_dtype;
  double noise_floor = 0;
  ErrorFloor floor = ErrorFloor::Roundings;  // what the limit of the file's type is six times
  // The fold's error in the file's type is above 32 epsilons, or above four and six times the original's own: never
  // called exact without both errors.
  bool beyond_rounding = false;
  std::optional<FromExact> errors;   // The deciding row's; null: float64 was impossible, or nothing differs.
  std::optional<bool> exact;         // true proved, false refuted, nullopt not decided
  std::string first_diverging;       // norm name; empty
  std::vector<std::string> not_run;  // folded norms that the inputs did not reach
  std::optional<int> sections;       // so many were proved one by one, and the whole was not run
};
NORMLENS_FIELDS(VerifyResult, algebra_done, algebra, algebra_reason, sample_only, file_done, file, file_reason,
                file_dtype, noise_floor, floor, beyond_rounding, errors, exact, first_diverging, not_run, sections)

struct FoldResult {
  PlanInfo plan;
  double fold_ms = 0;
  std::optional<VerifyResult> verify;
  std::vector<SizeCondition> holds_if;  // The folded norms' conditions.
  bool ok = false;                      // may be exported
  std::string reason;                   // why nothing was folded, or why it failed
  std::string not_carried;              // why the plan that carries means, which was asked for, was left
  std::string proved;                   // when, UTC: "2026-11-21T21:50:01Z"; empty: it was not
};
NORMLENS_FIELDS(FoldResult, plan, fold_ms, verify, ok, reason, holds_if, not_carried, proved)

// ---- source_hash: NoParams -> SourceHash. Of the open model.
struct SourceHash {
  std::string xxh3;  // of its files, 32 hex digits; empty: they cannot be read any more
};
NORMLENS_FIELDS(SourceHash, xxh3)

// ---- targets: NoParams -> Targets. What runs a file of the open model's format, and the norm that each loads.
struct TargetInfo {
  std::string name;                 // of ExportParams::target; empty: any runtime
  std::string title;                // "ONNX Runtime"
  std::string norm;                 // of FoldParams::norm
  std::string operators;            // in a LayerNorm's place: "Pow, ReduceMean, Add, Sqrt, Div"
  std::string speed, range;         // what is fast there; where squares are taken in float16. May be empty.
  std::string limits, source;       // what it cannot load; how this is known
  bool squares_in_float16 = false;  // ... and range says what to do about it
  bool ran = false;                 // folds were run there, in tests of this project
};
NORMLENS_FIELDS(TargetInfo, name, title, norm, operators, speed, range, limits, source, squares_in_float16, ran)

struct Targets {
  std::vector<TargetInfo> targets;
};
NORMLENS_FIELDS(Targets, targets)

// ---- export: ExportParams -> ExportResult. Writes the last folded model.
struct ExportParams {
  std::string path;
  std::string norm = "portable";  // portable, primitives, fast
  bool force = false;
  std::string target;  // a TargetInfo's name: its norm is written, whatever `norm` is; empty: none
};
NORMLENS_FIELDS(ExportParams, path, norm, force, target)

// A norm whose squares float16 does not hold, on the inputs that were set.
struct Overflow {
  std::string norm;   // its title
  double square = 0;  // the largest x²
};
NORMLENS_FIELDS(Overflow, norm, square)

struct ExportResult {
  std::string path;
  int64_t bytes = 0;
  double save_ms = 0;
  std::vector<Overflow> overflows;  // looked for where the target, or the model, takes squares in float16
};
NORMLENS_FIELDS(ExportResult, path, bytes, save_ms, overflows)

// ---- tensor_stats: TensorParams -> TensorStats. For the inspector, computed in the engine.
struct TensorParams {
  int value = 0;  // a constant
  PlanParams plan;
};
NORMLENS_FIELDS(TensorParams, value, plan)

// These figures are of the finite elements.
struct TensorFigures {
  double min = 0, max = 0, mean = 0, deviation = 0;
  std::vector<int64_t> histogram;  // Counts bins of equal width over [low, high] of the stats.
  std::vector<double> heat;        // means of the cells of the heat map, row by row
  double largest_column_mean = 0;  // absolute; 0 where the plan does not center it
};
NORMLENS_FIELDS(TensorFigures, min, max, mean, deviation, histogram, heat, largest_column_mean)

struct TensorStats {
  std::string name, dtype;
  std::vector<int64_t> shape;
  int64_t not_finite = 0;               // elements that are NaN or infinite
  double low = 0, high = 0;             // Both histograms'.
  int heat_rows = 0, heat_columns = 0;  // axis 0 down, all others across
  TensorFigures before;                 // as in the file
  std::optional<TensorFigures> after;   // centered, rounded to its type; nullopt: the plan does not center it
  std::vector<double> column_means;     // at most 256, evenly picked: what centering removes; empty if not centered
};
NORMLENS_FIELDS(TensorStats, name, dtype, shape, not_finite, low, high, heat_rows, heat_columns, before, after,
                column_means)

// ---- save_tensor: SaveTensorParams -> SavedTensor. As .npy; all or nothing.
struct SaveTensorParams {
  int value = 0;  // a constant
  std::string path;
};
NORMLENS_FIELDS(SaveTensorParams, value, path)

struct SavedTensor {
  std::string path;
  int64_t bytes = 0;
};
NORMLENS_FIELDS(SavedTensor, path, bytes)

// ---- notifications, engine -> window
struct Progress {  // method "$/progress"
  int64_t id = 0;  // the request it belongs to
  std::string stage;
  double fraction = -1;  // negative: unknown
};
NORMLENS_FIELDS(Progress, id, stage, fraction)

// "$/cancelRequest", window -> engine: {"id": n}. The cancelled request still answers, with code RequestCancelled.

// Error codes of JSON-RPC replies.
enum class RpcError : int {
  ParseError = -32700,
  InvalidRequest = -32600,
  MethodNotFound = -32601,
  InvalidParams = -32602,
  InternalError = -32603,
  NotInitialized = -32002,
  RequestCancelled = -32800,
  EngineError = -32000,  // data: {"code","hint"} of normlens::Error
};

}  // namespace normlens::protocol
