// ONNX Runtime's profile of a session: the times of its nodes. Private to formats/onnx.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/formats/runner.h"

namespace normlens::formats::onnx {

enum class ProfileClock {
  Nodes,    // A node's call: all of it on the CPU, its launches on a GPU.
  Kernels,  // The kernels of a node on the GPU.
};

// Medians over the last `passes` runs that the file records, in order of execution. `nodeNamed`: the graph's node of a
// name, kNone for one that the runtime made. Errors: RunFailed where the file cannot be read, Unsupported where it does
// not record kernels that are wanted: not every build of the runtime does.
[[nodiscard]] Result<std::vector<OpTime>> readProfile(
    const std::filesystem::path& file, int passes, ProfileClock clock,
    const std::function<graph::NodeId(const std::string&)>& nodeNamed);

}  // namespace normlens::formats::onnx
