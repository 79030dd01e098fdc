#include "core/formats/onnx/save/superseded_data.h"

#include <algorithm>
#include <optional>

#include "core/base/files.h"
#include "core/formats/file/file_kind.h"
#include "core/formats/file/mapped_file.h"
#include "core/formats/onnx/read/tensors/external_locations.h"
#include "core/formats/onnx/read/tensors/split_weights.h"

namespace normlens::formats::onnx {
namespace {

namespace fs = std::filesystem;

std::optional<std::set<std::string>> locationsOf(const fs::path& model) {
  const auto file = MappedFile::open(model);
  if (!file) return std::nullopt;
  return externalLocations((*file)->bytes());
}

// It records that NormLens wrote it (see fold_history.h).
bool isOurs(const fs::path& model) {
  const auto file = MappedFile::open(model);
  const auto split = file ? splitWeights((*file)->bytes()) : std::nullopt;
  ModelProto skeleton;
  return split && skeleton.ParseFromString(split->skeleton) &&
         std::ranges::any_of(skeleton.metadata_props(),
                             [](const auto& one) { return one.key() == "normlens.version"; });
}

fs::path folderOf(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// "out_data_2" without its "_2".
std::string unnumbered(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  return end != std::string::npos && name[end] == '_' ? name.substr(0, end) : name;
}

// Adds all files that a model names; what is no model names none. False: a model, but it cannot be read.
bool addNeeded(const fs::path& model, std::vector<fs::path>& needed) {
  const auto file = MappedFile::open(model);
  const bool saysSo = model.extension() == ".onnx";
  if (!file) return !saysSo;
  if (!saysSo && detectKind((*file)->bytes()) != FileKind::Onnx) return true;
  const auto locations = externalLocations((*file)->bytes());
  if (!locations) return false;
  for (const std::string& location : *locations) needed.push_back(folderOf(model) / location);
  return true;
}

// Lists what the models of a folder need, and the opened one; nullopt where one of them cannot be read.
std::optional<std::vector<fs::path>> neededBy(const fs::path& folder, const fs::path& opened) {
  std::vector<fs::path> needed;
  std::error_code error;
  const auto names = files::namesIn(folder);
  if (!names) return std::nullopt;
  for (const std::string& name : *names) {
    if (fs::is_regular_file(folder / name, error) && !addNeeded(folder / name, needed)) return std::nullopt;
  }
  // Not there: made in memory, or gone since, and with it what it needed.
  if (fs::exists(opened, error) && !addNeeded(opened, needed)) return std::nullopt;
  return needed;
}

}  // namespace

std::vector<fs::path> dataFilesOf(const fs::path& path, const std::set<std::string>& wanted) {
  std::vector<fs::path> files;
  if (!isOurs(path)) return files;
  const std::string out = path.filename().string(), stem = path.stem().string();
  for (const std::string& location : locationsOf(path).value_or(std::set<std::string>())) {
    const std::string name = unnumbered(location);
    const bool own = name == out + ".data" || name == stem + "_data" || name.starts_with(out + "_data") ||
                     wanted.contains(location) || wanted.contains(name);
    const fs::path file = folderOf(path) / location;
    std::error_code error;
    if (own && fs::path(location).filename() == location &&
        fs::symlink_status(file, error).type() == fs::file_type::regular)
      files.push_back(file);
  }
  return files;
}

void removeUnneeded(const std::vector<fs::path>& files, const fs::path& folder, const fs::path& opened) {
  if (files.empty()) return;
  const auto needed = neededBy(folder.empty() ? fs::path(".") : folder, opened);
  if (!needed) return;
  for (const fs::path& file : files) {
    std::error_code error;
    const auto isIt = [&](const fs::path& other) { return fs::equivalent(file, other, error); };
    if (std::ranges::none_of(*needed, isIt)) static_cast<void>(files::remove(file));
  }
}

}  // namespace normlens::formats::onnx
