#include "core/formats/safetensors/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "core/base/files.h"
#include "core/base/printable.h"

namespace normlens::formats::safetensors {
namespace {

using pt2::BrokenDocument;
using pt2::Json;
using Names = std::vector<std::string>;

constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kIndexSuffix = ".safetensors.index.json";
constexpr size_t kMostIndexBytes = size_t{256} << 20;

// The same weights in another form, of which a fold knows nothing.
bool isOtherWeights(const std::string& name) {
  constexpr std::string_view kSuffixes[] = {".bin", ".bin.index.json", ".h5",   ".msgpack",   ".ot",   ".pt",    ".pth",
                                            ".pt2", ".ckpt",           ".onnx", ".onnx_data", ".gguf", ".tflite"};
  return std::ranges::any_of(kSuffixes, [&](std::string_view suffix) { return name.ends_with(suffix); });
}

bool isInFolderItself(const std::string& name) { return name.find('/') == std::string::npos; }

tl::unexpected<Error> inFile(const std::filesystem::path& path, const std::string& what) {
  return fail(ErrorCode::Unreadable, printable(path.string() + " cannot be used: " + what));
}

Result<Shard> openShard(const std::filesystem::path& folder, const std::string& name) {
  auto file = MappedFile::open(folder / name);
  if (!file) return tl::unexpected(file.error());
  auto header = parseHeader((*file)->bytes());
  if (!header) return inFile(folder / name, header.error().message);
  return Shard{name, std::move(*file), std::move(*header)};
}

// By shard, the names that the index has there.
std::map<std::string, std::set<std::string>> shardsOf(const Json& index) {
  std::map<std::string, std::set<std::string>> shards;
  for (const auto& [tensor, file] : index.at("weight_map").members()) {
    const std::string& name = file.text();
    if (name.find_first_of("/\\") != std::string::npos || name == ".." || name.find('\0') != std::string::npos)
      throw BrokenDocument(printable("it names a file outside of the folder: '" + name + "'"));
    if (!name.ends_with(kSuffix)) throw BrokenDocument(printable("'" + name + "' is no safetensors file"));
    shards[name].insert(tensor);
  }
  if (shards.empty()) throw BrokenDocument("it names no file");
  return shards;
}

Status checkIndexed(const Shard& shard, const std::set<std::string>& wanted, const std::filesystem::path& folder) {
  std::set<std::string_view> held;
  for (const Tensor& tensor : shard.header.tensors) held.insert(tensor.name);
  for (const std::string& name : wanted) {
    if (!held.contains(name))
      return inFile(folder / shard.name, "'" + name + "', which the index has there, is not in it");
  }
  return {};
}

Status openIndexed(Checkpoint& checkpoint, const Names& files) {
  const auto path = checkpoint.folder / checkpoint.indexName;
  const auto text = files::readSmall(path, kMostIndexBytes);
  if (!text) return inFile(path, text.error() == EFBIG ? "it is too large" : std::strerror(text.error()));
  auto index = pt2::parseJson(*text);
  if (!index) return inFile(path, index.error().message);
  std::map<std::string, std::set<std::string>> shards;
  try {
    shards = shardsOf(*index);
  } catch (const BrokenDocument& error) {
    return inFile(path, error.what());
  }
  for (const auto& [name, wanted] : shards) {
    if (std::ranges::find(files, name) == files.end())
      return inFile(path, "'" + name + "', which it names, is missing");
    auto shard = openShard(checkpoint.folder, name);
    if (!shard) return tl::unexpected(shard.error());
    if (auto status = checkIndexed(*shard, wanted, checkpoint.folder); !status) return status;
    checkpoint.shards.push_back(std::move(*shard));
  }
  checkpoint.index = std::move(*index);
  return {};
}

Status checkUnique(const Checkpoint& checkpoint) {
  std::set<std::string_view> names;
  for (const Shard& shard : checkpoint.shards) {
    for (const Tensor& tensor : shard.header.tensors) {
      if (!names.insert(tensor.name).second)
        return inFile(checkpoint.folder / shard.name, "'" + tensor.name + "' is in another file as well");
    }
  }
  return {};
}

}  // namespace

std::vector<Checkpoint::Place> Checkpoint::places() const {
  std::vector<Place> all;
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    for (size_t tensor = 0; tensor < shards[shard].header.tensors.size(); ++tensor) all.push_back({shard, tensor});
  }
  return all;
}

std::optional<Checkpoint::Place> Checkpoint::find(const std::string& name) const {
  for (const Place& place : places()) {
    if (at(place).name == name) return place;
  }
  return std::nullopt;
}

graph::TensorView Checkpoint::view(const Place& place) const {
  const Tensor& tensor = at(place);
  graph::TensorView view;
  view.dtype = tensor.dtype;
  view.shape = tensor.shape;
  view.strides.resize(tensor.shape.size());
  int64_t stride = 1;
  for (size_t i = view.shape.size(); i-- > 0;) {
    view.strides[i] = stride;
    stride *= view.shape[i];
  }
  if (tensor.dtype == graph::DType::Unknown) return view;
  view.data = shards[place.shard].file->bytes().data() + tensor.begin;
  view.owner = shards[place.shard].file;
  return view;
}

Result<Checkpoint> openCheckpoint(const std::filesystem::path& folder, const Names& files) {
  Checkpoint checkpoint;
  checkpoint.folder = folder;
  Names weights, indices;
  for (const std::string& name : files) {
    if (isInFolderItself(name) && name.ends_with(kSuffix)) {
      weights.push_back(name);
    } else if (isInFolderItself(name) && name.ends_with(kIndexSuffix)) {
      indices.push_back(name);
    } else {
      (isOtherWeights(name) || name.ends_with(kSuffix) ? checkpoint.left : checkpoint.others).push_back(name);
    }
  }
  if (indices.size() > 1 || (indices.empty() && weights.size() > 1))
    return fail(ErrorCode::BadInput, printable(folder.string() + " holds several sets of weights"),
                "give a folder with one of them");
  if (indices.empty() && weights.empty())
    return fail(ErrorCode::BadInput, printable(folder.string() + " holds no safetensors file"),
                "save the model with save_pretrained(…, safe_serialization=True)");
  if (indices.empty()) {
    auto shard = openShard(folder, weights.front());
    if (!shard) return tl::unexpected(shard.error());
    checkpoint.shards.push_back(std::move(*shard));
  } else {
    checkpoint.indexName = indices.front();
    if (auto status = openIndexed(checkpoint, files); !status) return tl::unexpected(status.error());
  }
  if (weights.size() > checkpoint.shards.size())
    return fail(ErrorCode::BadInput,
                printable(folder.string() + " holds safetensors files that " + checkpoint.indexName + " does not name"),
                "give a folder with one set of weights");
  if (auto status = checkUnique(checkpoint); !status) return tl::unexpected(status.error());
  return checkpoint;
}

}  // namespace normlens::formats::safetensors
