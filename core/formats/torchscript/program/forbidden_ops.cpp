#include "core/formats/torchscript/program/forbidden_ops.h"

#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>

namespace normlens::formats::torchscript {
namespace {

using torch::jit::Node;
using torch::jit::Operation;

// Namespaces of ops that compute: profiler's mark a range for a profile that nobody takes here. Others of LibTorch's
// reach devices (cuda, symm_mem) and other machines (c10d), or trust their caller (static_runtime, inductor).
constexpr std::array<std::string_view, 9> kNamespaces = {
    "aten", "prim", "quantized", "_quantized", "sparse", "prepacked", "mkldnn_prepacked", "profiler", "normlens"};

// Lists what of these is forbidden all the same. Settings of a thread (aten::set_grad_enabled, which `with
// torch.no_grad()` becomes) end with the run's own guards, and each run seeds the generator that aten::manual_seed
// seeds.
struct Row {
  std::string_view begin;  // The op's name begins with it.
  std::string_view why;
  bool onlyStrict = false;
};
constexpr std::array kRows = {
    Row{"aten::from_file", "can write files"},
    Row{"aten::save", "writes files"},
    Row{"aten::_cufft_", "changes a setting of the whole program"},
    Row{"prim::rpc_", "sends requests to other machines"},
    Row{"prim::Print", "prints", true},
    Row{"aten::_print", "prints", true},
};

constexpr std::string_view kNeverRun = ", so it is never run";

// Records what has been done to torch's list of operators.
struct Disarmed {
  std::mutex mutex;
  size_t operators = 0;  // in the table by then
  std::atomic<bool> strict = false;
};
Disarmed& disarmed() {
  static Disarmed state;
  return state;
}

// "writes files"; empty: the op may be run.
std::string_view whyForbidden(std::string_view op) {
  const std::string_view space = op.substr(0, op.find("::"));
  if (std::ranges::find(kNamespaces, space) == kNamespaces.end()) return "is no op that only computes";
  for (const Row& row : kRows) {
    if (op.starts_with(row.begin) && (!row.onlyStrict || disarmed().strict)) return row.why;
  }
  return {};
}

std::string callOf(std::string_view op) {
  return "calls " + std::string(op) + ", which " + std::string(whyForbidden(op));
}

Operation refusal(const std::string& op) {
  return [what = "the model " + callOf(op) + std::string(kNeverRun)](torch::jit::Stack&) {
    throw std::runtime_error(what);
  };
}

void disarm(const torch::jit::Operator& op) {
  const c10::FunctionSchema schema = op.schema();  // NOLINT(performance-unnecessary-copy-initialization): op goes
  const auto aliases = op.aliasAnalysisKind();
  torch::jit::deregisterOperator(schema);
  if (schema.is_vararg()) {
    const auto create = [](const Node* node) { return refusal(node->kind().toQualString()); };
    torch::jit::registerOperator({c10::Symbol::fromQualString(schema.name()), create, aliases});
  } else if (!schema.is_varret()) {
    torch::jit::registerOperator(
        {schema.name(), schema.overload_name(), schema.arguments(), schema.returns(), refusal(schema.name()), aliases});
  }
}

}  // namespace

void forbidOps(bool strict) {
  Disarmed& done = disarmed();
  const std::lock_guard lock(done.mutex);
  const auto all = torch::jit::getAllOperators();
  if (all.size() == done.operators && (done.strict || !strict)) return;
  if (strict) done.strict = true;
  for (const auto& op : all) {
    if (!whyForbidden(op->schema().name()).empty()) disarm(*op);
  }
  done.operators = torch::jit::getAllOperators().size();
}

std::optional<Error> forbiddenCall(const Program& program) {
  for (const ProgramNode& node : program.nodes) {
    const std::string_view op = node.node->kind().toQualString();
    if (whyForbidden(op).empty()) continue;
    const Frame& frame = program.frame(node.frame);
    const std::string where = frame.method + (frame.path.empty() ? "" : " of " + frame.path);
    return Error{ErrorCode::Unsupported, "the model " + callOf(op) + " (" + where + ")" + std::string(kNeverRun), {}};
  }
  return std::nullopt;
}

std::optional<std::string> forbiddenInLoading(std::string_view error) {
  const size_t end = error.find(kNeverRun);
  const size_t call = error.rfind("calls ", end);
  if (end == std::string_view::npos || call == std::string_view::npos) return std::nullopt;
  std::string reported(error.substr(call, end - call));
  constexpr std::string_view kFile = "File \"";
  if (size_t record = error.rfind(kFile, call); record != std::string_view::npos) {
    record += kFile.size();
    reported += " (" + std::string(error.substr(record, error.find('"', record) - record)) + ")";
  }
  return reported;
}

}  // namespace normlens::formats::torchscript
