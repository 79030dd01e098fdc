#include "core/formats/onnx/save/save_layout.h"

#include <algorithm>
#include <bit>
#include <climits>

#include "core/base/printable.h"
#include "core/formats/onnx/read/split_weights.h"

namespace normlens::formats::onnx {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestAlignment =
    uint64_t{64} * 1024;  // Tensors in data files begin at its multiples, as exporters use it.

Bytes textBytes(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

uint64_t sizeOf(const Weight& weight) {
  // Types that our views have no word for are only ever carried over.
  if (weight.asOpened) return weight.storedAt.bytes;
  return static_cast<uint64_t>(graph::elementCount(weight.view.shape).value_or(0)) *
         graph::dtypeBytes(weight.view.dtype);
}

uint64_t totalOf(const std::vector<Bytes>& pieces) {
  uint64_t sum = 0;
  for (const auto& piece : pieces) sum += piece.size();
  return sum;
}

// Neighbors in memory are one piece.
void add(std::vector<Bytes>& pieces, Bytes next) {
  if (next.empty()) return;
  if (!pieces.empty() && pieces.back().data() + pieces.back().size() == next.data()) {
    pieces.back() = {pieces.back().data(), pieces.back().size() + next.size()};
  } else {
    pieces.push_back(next);
  }
}

std::string header(uint32_t field, uint64_t size) {
  std::string out;
  appendVarint((uint64_t{field} << 3) | static_cast<uint64_t>(WireType::Delimited), out);
  appendVarint(size, out);
  return out;
}

// New texts follow those that stay.
void setProperties(::google::protobuf::RepeatedPtrField<::ONNX_NAMESPACE::StringStringEntryProto>& entries,
                   const std::map<std::string, std::string>& properties) {
  const auto old = std::remove_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return properties.contains(entry.key()); });
  entries.erase(old, entries.end());
  for (const auto& [key, value] : properties) {
    auto& entry = *entries.Add();
    entry.set_key(key);
    entry.set_value(value);
  }
}

// The largest power of two that all tensors of a file are aligned to; 0 where a file holds one tensor only.
uint64_t alignmentOf(const std::vector<std::pair<std::string, const Weight*>>& weights) {
  uint64_t alignment = kLargestAlignment;
  bool several = false;
  for (const auto& [name, weight] : weights) {
    const uint64_t offset = weight->storedAt.offset;
    if (offset == 0) continue;
    several = true;
    alignment = std::min(alignment, uint64_t{1} << std::countr_zero(offset));
  }
  return several ? alignment : 0;
}

// Returns a file's name, cut between two characters where it would be too long with a number behind it. What follows
// the first `kept` bytes keeps at least as many as "_data" has: the names that a confined process may make end so.
std::string cut(std::string name, size_t kept) {
  constexpr size_t kMost = NAME_MAX - 4, kLeast = 5;  // "_999"
  if (name.size() <= kMost) return name;
  name.resize(characterStart(name, std::min(std::max(kMost, kept + kLeast), name.size())));
  return name;
}

// Ranges of a file that hold something.
class Taken {
 public:
  // False: somebody is there already.
  bool take(uint64_t begin, uint64_t size) {
    auto next = ranges_.lower_bound(begin);
    if (next != ranges_.end() && next->first < begin + size) return false;
    if (next != ranges_.begin() && std::prev(next)->second > begin) return false;
    ranges_.emplace(begin, begin + size);
    return true;
  }
  void share(uint64_t begin, uint64_t size) {
    auto& end = ranges_[begin];
    end = std::max(end, begin + size);
  }

 private:
  std::map<uint64_t, uint64_t> ranges_;
};

}  // namespace

Result<SaveLayout> SaveLayout::make(const OnnxSource& source, const fs::path& path,
                                    const std::map<std::string, std::string>& properties, uint64_t largest) {
  for (const bool everything : {false, true}) {
    SaveLayout layout;
    layout.placeExternal(source, path, everything);
    layout.placeModel(source, path, properties);
    if (layout.files_.back().size <= largest) return layout;
  }
  return fail(ErrorCode::Unsupported,
              path.string() + " cannot be written: the model is larger than 2 GB without its tensors");
}

// everything: large tensors of the model's file go to a data file as well.
void SaveLayout::placeExternal(const OnnxSource& source, const fs::path& path, bool everything) {
  std::map<std::string, std::vector<std::pair<std::string, const Weight*>>> byLocation;
  std::vector<std::pair<std::string, const Weight*>> movedOut;
  for (const auto& [name, weight] : *source.weights) {
    if (!weight.storedAt.location.empty()) {
      byLocation[weight.storedAt.location].emplace_back(name, &weight);
    } else if (everything && sizeOf(weight) >= kLargeTensorBytes) {
      movedOut.emplace_back(name, &weight);
    }
  }
  for (const auto& [location, weights] : byLocation) placeFile(location, weights, source, path);
  if (movedOut.empty()) return;
  const std::string location = newLocation(source.path.filename().string() + ".data", source, path);
  FileContents file{path.parent_path() / location, 0, {}};
  for (const auto& [name, weight] : movedOut) {
    const uint64_t offset = (file.size + kLargestAlignment - 1) / kLargestAlignment * kLargestAlignment;
    put(name, *weight, file, location, offset, true);
  }
  files_.push_back(std::move(file));
}

void SaveLayout::put(const std::string& name, const Weight& weight, FileContents& file, const std::string& location,
                     uint64_t offset, bool moved) {
  const uint64_t size = sizeOf(weight);
  file.pieces.push_back({offset, Bytes(weight.view.data, size), {}, {}});
  file.size = std::max(file.size, offset + size);
  external_[name] = {location, offset, size, moved};
}

void SaveLayout::placeFile(const std::string& oldLocation,
                           const std::vector<std::pair<std::string, const Weight*>>& weights, const OnnxSource& source,
                           const fs::path& path) {
  const std::string location = newLocation(oldLocation, source, path);
  FileContents file{path.parent_path() / location, 0, {}};
  const uint64_t alignment = alignmentOf(weights);
  Taken taken;
  for (const auto& [name, weight] : weights) {
    if (!weight->asOpened) continue;
    taken.share(weight->storedAt.offset, weight->storedAt.bytes);
    put(name, *weight, file, location, weight->storedAt.offset, false);
  }
  std::vector<std::pair<std::string, const Weight*>> homeless;
  for (const auto& [name, weight] : weights) {
    if (weight->asOpened) continue;
    const auto& at = weight->storedAt;
    if (sizeOf(*weight) == at.bytes && taken.take(at.offset, at.bytes)) {
      put(name, *weight, file, location, at.offset, true);
    } else {
      homeless.emplace_back(name, weight);
    }
  }
  for (const auto& [name, weight] : homeless) {
    if (alignment > 0) {
      put(name, *weight, file, location, (file.size + alignment - 1) / alignment * alignment, true);
      continue;
    }
    // One file per tensor.
    const std::string own = newLocation(name, source, path);
    FileContents ownFile{path.parent_path() / own, 0, {}};
    put(name, *weight, ownFile, own, 0, true);
    files_.push_back(std::move(ownFile));
  }
  files_.push_back(std::move(file));
}

// "model.onnx.data" of model.onnx is "out.onnx.data" of out.onnx, "model.onnx_data" is "out.onnx_data", "model_data" is
// "out_data", "weights.bin" is "out.onnx.weights.bin": a confined process may make files of no other names
// (core/confine/doorkeeper.h). Never a name that is taken, be it by the model that is about to be replaced: that one
// needs its data until the new one has its name. "out.onnx.data_2" then. What the model or its names add is free of
// characters that a line cannot show, and is cut where the name would be too long.
std::string SaveLayout::newLocation(const std::string& old, const OnnxSource& source, const fs::path& path) {
  std::string flat = fs::path(old).lexically_normal().string();
  std::replace(flat.begin(), flat.end(), '/', '_');
  std::replace(flat.begin(), flat.end(), '\\', '_');
  const std::string model = source.path.filename().string(), stem = source.path.stem().string();
  const std::string out = path.filename().string();
  const bool isOfModel = flat.starts_with(model + ".") || flat.starts_with(model + "_data");
  std::string end = printable(isOfModel ? flat.substr(model.size()) : "." + flat);
  std::replace(end.begin(), end.end(), '?', '_');
  const std::string wanted = flat == stem + "_data" ? path.stem().string() + "_data" : cut(out + end, out.size());
  const auto inUse = [&](const std::string& name) {
    std::error_code error;
    return name == out || locations_.contains(name) || fs::exists(fs::symlink_status(path.parent_path() / name, error));
  };
  wanted_.insert(wanted);
  std::string name = wanted;
  for (int i = 2; inUse(name); ++i) name = wanted + "_" + std::to_string(i);
  locations_.insert(name);
  return name;
}

Bytes SaveLayout::keep(std::string text) {
  kept_.push_back(std::move(text));
  return textBytes(kept_.back());
}

void SaveLayout::placeModel(const OnnxSource& source, const fs::path& path,
                            const std::map<std::string, std::string>& properties) {
  ModelProto skeleton = *source.skeleton;
  setProperties(*skeleton.mutable_metadata_props(), properties);
  for (TensorProto& stub : *skeleton.mutable_graph()->mutable_initializer()) {
    const auto at = external_.find(stub.name());
    if (stub.data_location() == TensorProto::EXTERNAL && at != external_.end()) pointTo(at->second, stub);
  }
  std::vector<Bytes> pieces;
  skeleton_ = keep(skeleton.SerializeAsString());
  WireReader reader(skeleton_);
  while (const auto field = reader.next()) {
    if (field->number != ModelProto::kGraphFieldNumber) {
      add(pieces, field->whole);
      continue;
    }
    const auto graph = graphPieces(field->payload, source);
    add(pieces, keep(header(field->number, totalOf(graph))));
    for (const auto& piece : graph) add(pieces, piece);
  }
  FileContents file{path, 0, {}};
  for (const auto& piece : pieces) {
    file.pieces.push_back({file.size, piece, {}, {}});
    file.size += piece.size();
  }
  files_.push_back(std::move(file));
}

std::vector<Bytes> SaveLayout::graphPieces(Bytes graph, const OnnxSource& source) {
  std::vector<Bytes> pieces;
  WireReader reader(graph);
  int index = 0;
  while (const auto field = reader.next()) {
    if (field->number != GraphProto::kInitializerFieldNumber) {
      add(pieces, field->whole);
      continue;
    }
    // Serialized in their order in the model.
    const TensorProto& stub = source.skeleton->graph().initializer(index++);
    const auto weight = source.weights->find(stub.name());
    const bool inside = stub.data_location() == TensorProto::EXTERNAL && weight != source.weights->end() &&
                        !external_.contains(stub.name());
    if (!inside) {
      add(pieces, field->whole);
      continue;
    }
    std::vector<Bytes> tensor;
    tensorPieces(field->payload, weight->second, tensor);
    add(pieces, keep(header(field->number, totalOf(tensor))));
    for (const auto& piece : tensor) add(pieces, piece);
  }
  return pieces;
}

// The tensor as it was before its data was taken out, with the data there is now.
void SaveLayout::tensorPieces(Bytes stub, const Weight& weight, std::vector<Bytes>& out) {
  const bool asRaw = weight.field == TensorProto::kFloatDataFieldNumber && weight.view.dtype != graph::DType::Float32;
  const auto dataField =
      static_cast<uint32_t>(!weight.asOpened && asRaw ? TensorProto::kRawDataFieldNumber : weight.field);
  bool written = false;
  const auto writeData = [&] {
    if (std::exchange(written, true)) return;
    const uint64_t size = sizeOf(weight);
    add(out, keep(header(dataField, size)));
    add(out, {weight.view.data, size});
  };
  WireReader reader(stub);
  while (const auto field = reader.next()) {
    if (field->number == TensorProto::kDataLocationFieldNumber ||
        field->number == TensorProto::kExternalDataFieldNumber) {
      continue;
    }
    if (field->number > dataField) writeData();
    add(out, field->whole);
  }
  writeData();
}

void SaveLayout::pointTo(const DataLocation& at, TensorProto& stub) {
  const auto given = stub.external_data();
  stub.clear_external_data();
  const auto set = [&](const char* key, const std::string& value) {
    auto* entry = stub.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  bool located = false, offset = false, length = false;
  for (const auto& entry : given) {
    if (entry.key() == "location") {
      set("location", at.location);
      located = true;
    } else if (entry.key() == "offset") {
      set("offset", std::to_string(at.offset));
      offset = true;
    } else if (entry.key() == "length") {
      set("length", std::to_string(at.bytes));
      length = true;
    } else if (entry.key() != "checksum" || !at.moved) {
      *stub.add_external_data() = entry;
    }
  }
  if (!located) set("location", at.location);
  if (!offset && at.offset != 0) set("offset", std::to_string(at.offset));
  if (!length && at.moved) set("length", std::to_string(at.bytes));
}

}  // namespace normlens::formats::onnx
