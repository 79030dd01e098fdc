// libFuzzer target: any bytes, through all that the engine does with an ONNX file short of running it: what kind of
// file it is, reading, checking, the graph, inputs, shape inference, norms, verdicts.
//
// Beside what the sanitizers see, it is a find when a refusal is no plain sentence or a graph does not pass its
// checker.
#include <span>
#include <string>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/formats/file/file_kind.h"
#include "core/formats/onnx/model/onnx_model.h"
#include "tests/fuzz/fuzz_support.h"
#include "tests/fuzz/model_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

namespace {

namespace fs = std::filesystem;
using namespace normlens;
using formats::onnx::ModelProto;
using formats::onnx::OnnxModel;
using fuzz::expectPlainSentence;
using fuzz::expectRefusal;
using fuzz::found;

void expectSound(const graph::Graph& graph) {
  if (const auto sound = graph::checkGraph(graph); !sound) found("graph: " + sound.error().message);
}

void openAndAnalyse(const fs::path& path) {
  auto model = OnnxModel::open(path, {});
  if (!model) return expectRefusal(model.error());
  expectSound((*model)->graph());
  static_cast<void>(analysis::findNorms((*model)->graph()));
  // Built without ONNX Runtime, the probe falls back on onnx's shape inference.
  formats::Tensors none;
  if (const auto inputs = (*model)->inferInputs(); !inputs) expectPlainSentence(inputs.error());
  if (const auto ran = (*model)->probe(none, {}); !ran) expectPlainSentence(ran.error());
  expectSound((*model)->graph());
  const auto verdicts = analysis::analyze((*model)->graph(), {});
  if (!verdicts) expectRefusal(verdicts.error());
}

// Grows a string by at most this much in one step.
constexpr size_t kRoom = 32;

void mutateBytes(std::string& bytes) {
  const size_t size = bytes.size();
  bytes.resize(size + kRoom);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, bytes.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  static const auto weights = folder.write("w.data", std::vector<uint8_t>(4096, 1));  // of seeds with external data
  const std::span bytes(data, size);
  if (formats::detectKind(std::as_bytes(bytes)) != formats::FileKind::Onnx) return 0;
  openAndAnalyse(folder.write("model.onnx", bytes));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned int seed) {
  constexpr unsigned kAsBytes = 8;  // one in so many is mutated without regard to what it means
  std::minstd_rand random(seed);
  ModelProto model;
  if (random() % kAsBytes == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, maxSize);
  fuzz::mutateModel(model, random, mutateBytes);
  const size_t written = model.ByteSizeLong();
  if (written > maxSize || !model.SerializeToArray(data, static_cast<int>(written)))
    return LLVMFuzzerMutate(data, size, maxSize);
  return written;
}
