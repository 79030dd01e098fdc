#include "app/engine/serve/request_files.h"

#include <array>
#include <string>

#include "core/protocol/difference_messages.h"
#include "core/protocol/methods.h"

namespace normlens::engine {
namespace {

namespace methods = protocol::methods;

// A parameter that is a path. Where it may be something else ("folded", or nothing), a file of that name is granted
// too.
struct PathParameter {
  std::string_view method, name;
  bool written = false;
};
constexpr std::array kPaths = {
    PathParameter{methods::kOpen, "path"},
    PathParameter{methods::kOpen, "inputs"},
    PathParameter{methods::kReadGraph, "path"},
    PathParameter{methods::kWeightDigests, "path"},
    PathParameter{methods::kSetInputs, "npz"},
    PathParameter{methods::kBench, "a"},
    PathParameter{methods::kBench, "b"},
    PathParameter{methods::kDiff, "against"},
    PathParameter{methods::kTensorPair, "against"},
    PathParameter{methods::kExport, "path", true},
    PathParameter{methods::kSaveTensor, "path", true},
};

}  // namespace

void grantFilesOf(std::string_view method, const nlohmann::json& params, confine::Grants& grants) {
  if (!params.is_object()) return;
  for (const PathParameter& path : kPaths) {
    const auto given = path.method == method ? params.find(path.name) : params.end();
    if (given == params.end() || !given->is_string()) continue;
    path.written ? grants.toWrite(given->get<std::string>()) : grants.toRead(given->get<std::string>());
  }
}

}  // namespace normlens::engine
