// libFuzzer target: a plan file, read for a small model.
#include "core/analysis/analysis.h"
#include "core/service/plans/plan_file.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/support/graph_text.h"

namespace {

using namespace normlens;

constexpr const char* kModel = R"(graph {
  input %x: float32[2, 5, 8]
  const %w: float32[8, 8] random 1
  const %scale: float32[8] random 3
  const %beta: float32[8] random 4
  const %w2: float32[8, 8] random 5
  const %b2: float32[8] random 6
  %s: float32[2, 5, 8] = Elementwise(%x)
  %n1: float32[2, 5, 8] = LayerNorm(%s, _, _) {axes = [2], eps = 1e-05} name "a"
  %f: float32[2, 5, 8] = Linear(%n1, %w, _)
  %g: float32[2, 5, 8] = Mul(%f, %scale)
  %r: float32[2, 5, 8] = Add(%s, %g)
  %n2: float32[2, 5, 8] = LayerNorm(%r, _, %beta) {axes = [2], eps = 1e-05} name "b"
  %y: float32[2, 5, 8] = Linear(%n2, %w2, %b2)
  return %y
})";

struct Model {
  graph::Graph graph = *graph::parseGraph(kModel);
  std::vector<analysis::LayerNorm> norms = (*analysis::analyze(graph, Task{}))->norms.layerNorms;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Model model;
  const auto abc = [](formats::HashKind) { return std::string("abc"); };
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto plan = service::planFromJson(text, model.graph, model.norms, abc);
  if (!plan) {
    fuzz::expectPlainSentence(plan.error());
    return 0;
  }
  const std::string written = service::planToJson(*plan, model.graph, model.norms, "abc");
  const auto again = service::planFromJson(written, model.graph, model.norms, abc);
  if (!again || service::planToJson(*again, model.graph, model.norms, "abc") != written)
    fuzz::found("no round trip: " + written);
  return 0;
}
