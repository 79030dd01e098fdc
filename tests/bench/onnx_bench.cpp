// Opening, probing and analyzing ONNX graphs of many nodes, against what the onnx library takes to parse and infer
// them. Never torch here: its headers bring another protobuf.
#include <onnx/common/file_utils.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <vector>

#include "core/formats/formats.h"
#include "core/service/service.h"
#include "tests/bench/timing.h"
#include "tests/support/must.h"

namespace normlens::bench {
namespace {

namespace fs = std::filesystem;
using ::ONNX_NAMESPACE::ModelProto;

std::string bytesOf(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::unique_ptr<ModelProto> parseAndInfer(const std::string& bytes) {
  auto model = std::make_unique<ModelProto>();
  if (!model->ParseFromString(bytes)) throw std::runtime_error("not a model");
  ::ONNX_NAMESPACE::shape_inference::InferShapes(*model);
  return model;
}

void benchOpening(const fs::path& path) {
  const std::string bytes = bytesOf(path);
  std::unique_ptr<ModelProto> inferred;
  std::unique_ptr<formats::Model> model;
  std::optional<service::Service> service;
  // What was made is kept until its time was taken, and given back before the next.
  const auto drop = [&] {
    inferred.reset();
    model.reset();
    service.emplace();
  };
  drop();
  const auto ms = interleavedMs(7,
                                {{"floor", [&] { inferred = parseAndInfer(bytes); }},
                                 {"open", [&] { model = must(formats::openModel(path, {}, {})); }},
                                 {"service", [&] { must(service->open(path, {})); }}},
                                drop);
  printRow("ParseFromString and InferShapes, bytes in memory", ms[0], "ms");
  printRow("the file read, checked and made a graph", ms[1], "ms");
  printRow("  ratio", ms[1] / ms[0], "", "(goal: at most 1.5)");
  printRow("the same as the window asks for it, norms found", ms[2], "ms");
  printRow("  ratio", ms[2] / ms[0], "", "(goal: at most 1.5)");
}

struct Analyses {
  std::vector<double> wholes, analyses, plannings;

  // As a user meets it, right after the model was read and run.
  void add(const fs::path& path) {
    service::Service service;
    must(service.open(path, {}));
    wholes.push_back(elapsedMs([&] { must(service.analyze({})); }));
    analyses.push_back(service.times().analysis_ms);
    plannings.push_back(elapsedMs([&] { must(service.plan({}, {})); }));
  }

  void print() const {
    printRow("run once for shapes, analysed and told", middle(wholes), "ms");
    printRow("of which the analysis", middle(analyses), "ms", "(goal: below 500 for 50,000 nodes)");
    printRow("a plan, made and told", middle(plannings), "ms");
  }
};

void printSize(const fs::path& path) {
  ModelProto model;
  if (!model.ParseFromString(bytesOf(path))) throw std::runtime_error("not a model");
  std::printf("ONNX graph of %d nodes\n", model.graph().node_size());
}

}  // namespace

LoadFloor onnxLoad(const fs::path& model) {
  return {"onnx::LoadProtoFromPath", [path = model.string()] {
            auto loaded = std::make_shared<ModelProto>();
            ::ONNX_NAMESPACE::LoadProtoFromPath(path, *loaded);
            return loaded;
          }};
}

void benchOnnxOpen(const fs::path& small, const fs::path& large) {
  // In turns, so that both meet the machine as it is at that time.
  Analyses few, many;
  for (int round = 0; round < 5; ++round) {
    few.add(small);
    many.add(large);
  }
  for (const auto& [path, analyses] : {std::pair(small, few), std::pair(large, many)}) {
    printSize(path);
    benchOpening(path);
    analyses.print();
  }
  printRow("analysis, the large graph to the small one", middle(many.analyses) / middle(few.analyses), "",
           "(goal: at most 6)");
}

}  // namespace normlens::bench
