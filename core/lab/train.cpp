#include "core/lab/train.h"

#include "core/base/library/own_library.h"
#include "core/lab/data/load_data.h"
#include "core/lab/library_door.h"
#include "core/lab/run_files.h"

namespace normlens::lab {

Result<RunResult> train(const RunSettings& settings, const RunPlace& place, const RunControl& control) {
  RETURN_IF_ERROR(checkRunSettings(settings));
  ASSIGN_OR_RETURN(const auto data, loadData(settings.data));
  ASSIGN_OR_RETURN(const auto door, symbolOfOwnLibrary("libnormlens_lab.so", kLibraryDoor));
  using Ask = const LibraryDoor* (*)();
  return reinterpret_cast<Ask>(door)()->train(settings, data, place, control);
}

std::vector<std::filesystem::path> filesOfRun(const RunSettings& settings, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files{checkpointFile(folder), resultFile(folder)};
  for (const RunMember& member : membersOf(settings))
    files.push_back(folder / (memberName(member, settings) + kNetworkSuffix));
  return files;
}

}  // namespace normlens::lab
