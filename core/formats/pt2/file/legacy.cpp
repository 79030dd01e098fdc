#include "core/formats/pt2/file/legacy.h"

#include <algorithm>
#include <map>

#include "core/formats/archive/pickle_scan.h"
#include "core/formats/pt2/file/container.h"
#include "core/formats/pt2/file/signature.h"

namespace normlens::formats::pt2 {
namespace {

constexpr uint64_t kMostOrder = 16;
constexpr uint64_t kMostPickle = uint64_t{64} << 20;

// Names where one container has the parts of a model.
struct Parts {
  std::string model, program, weights, constants, samples;
};

Parts flatParts() {
  return {"model", "serialized_exported_program.json", "serialized_state_dict.pt", "serialized_constants.pt",
          "serialized_example_inputs.pt"};
}

Parts pickledParts(const Archive& container) {
  const auto models = modelsIn(container);
  if (models.size() > 1)
    throw UnsupportedProgram("holds several models with pickled weights",
                             "load it with torch 2.9 or newer and write each with torch.export.save(...)");
  const std::string prefix(container.prefix()), &model = models.front();
  return {model, prefix + programRecord(model), prefix + "data/weights/" + model + ".pt",
          prefix + "data/constants/" + model + ".pt", prefix + "data/sample_inputs/" + model + ".pt"};
}

Json sizesOf(const std::vector<int64_t>& numbers) {
  Json::Array sizes;
  for (const int64_t number : numbers) sizes.emplace_back(Json::Object{{"as_int", Json(number)}});
  return sizes;
}

// Gathers the records of the archive as 2.9 would have them.
class Repacking {
 public:
  explicit Repacking(const std::shared_ptr<const Archive>& container)
      : container_(container), prefix_(container->prefix().empty() ? "model/" : std::string(container->prefix())) {}

  void add(const std::string& name, const std::string& from) {
    const ZipRecord* record = container_->find(from);
    if (record == nullptr) return;
    records_.push_back(*record);
    records_.back().name = prefix_ + name;
  }

  // Reads a zip of torch.save; its storages become records STEM0, STEM1, ...
  struct Saved {
    PickleScan scan;
    std::map<std::string, std::string> recordOf;  // by the storage's key
  };
  Saved addSaved(const std::string& from, const std::string& folder, const std::string& stem) {
    Saved saved;
    const ZipRecord* whole = container_->find(from);
    if (whole == nullptr) return saved;
    if (whole->method != ZipMethod::Stored) throw BrokenDocument("'" + from + "' is compressed");
    auto part = MappedFile::part(container_->sharedFile(), whole->dataOffset, whole->size);
    const auto inner = part == nullptr ? nullptr : Archive::open(std::move(part)).value_or(nullptr);
    const ZipRecord* order = inner == nullptr ? nullptr : inner->find(std::string(inner->prefix()) + "byteorder");
    if (order != nullptr && inner->read(*order, kMostOrder).value_or("") != "little")
      throw UnsupportedProgram("was written on a machine of another byte order", "export it on this machine");
    const ZipRecord* pickle = inner == nullptr ? nullptr : inner->find(std::string(inner->prefix()) + "data.pkl");
    const auto text = pickle == nullptr ? Result<std::string>() : inner->read(*pickle, kMostPickle);
    if (pickle == nullptr || !text) throw BrokenDocument("'" + from + "' is no file of torch.save");
    auto scan = scanPickle(*text);
    if (!scan) throw BrokenDocument("in '" + from + "' " + scan.error().message);
    saved.scan = std::move(*scan);
    for (const DeclaredStorage& storage : saved.scan.storages) {
      const ZipRecord* record = inner->find(std::string(inner->prefix()) + "data/" + storage.key);
      if (record == nullptr) throw BrokenDocument("'" + from + "' lacks the storage '" + storage.key + "'");
      const auto [known, isNew] = saved.recordOf.try_emplace(storage.key);
      if (!isNew) continue;
      known->second = stem + std::to_string(saved.recordOf.size() - 1);
      ZipRecord& moved = records_.emplace_back(*record);
      moved.name = prefix_ + folder + known->second;
      moved.dataOffset += whole->dataOffset;
      moved.headerOffset += whole->dataOffset;
    }
    return saved;
  }

  [[nodiscard]] Result<std::shared_ptr<const Archive>> archive() && {
    return Archive::of(container_->sharedFile(), std::move(records_), prefix_);
  }

 private:
  std::shared_ptr<const Archive> container_;
  std::string prefix_;
  std::vector<ZipRecord> records_;
};

// The table of 2.9: what the graph states of a tensor, and how it lies in its storage.
Json tableOf(const Repacking::Saved& saved, bool persistent, const Signature& signature, const Json& graph) {
  Json::Object entries;
  for (const PickledTensor& named : saved.scan.named) {
    const auto held = std::ranges::find_if(signature.held, [&](const HeldTensor& each) {
      return each.fqn == named.name && each.persistent == persistent;
    });
    if (held == signature.held.end()) continue;
    const DeclaredTensor& tensor = saved.scan.tensors[named.tensor];
    if (!tensor.asStored)
      throw UnsupportedProgram("has '" + named.name.substr(0, 80) + "' as the negative of what it stores",
                               "export it with torch 2.9 or newer, or call resolve_neg() on that tensor first");
    Json meta = graph.at("tensor_values").at(held->placeholder);
    if (readTensorMeta(meta).dtype != storageType(tensor.type).dtype)
      throw BrokenDocument("the graph has another element type for '" + named.name.substr(0, 80) +
                           "' than its storage");
    meta.set("sizes", sizesOf(tensor.sizes));
    meta.set("strides", sizesOf(tensor.strides));
    meta.set("storage_offset", Json(Json::Object{{"as_int", Json(tensor.offset)}}));
    entries.emplace_back(named.name, Json(Json::Object{
                                         {"path_name", Json(saved.recordOf.at(tensor.key))},
                                         {"is_param", Json(held->kind == HeldTensor::Kind::Parameter)},
                                         {"use_pickle", Json(false)},
                                         {"tensor_meta", std::move(meta)},
                                     }));
  }
  return Json(Json::Object{{"config", Json(std::move(entries))}});
}

Result<LegacyProgram> repacked(const std::shared_ptr<const Archive>& container) {
  const Parts parts = containerOf(*container) == Container::Flat ? flatParts() : pickledParts(*container);
  Repacking repacking(container);
  repacking.add(programRecord(parts.model), parts.program);
  repacking.add("data/sample_inputs/" + parts.model + ".pt", parts.samples);
  const auto weights = repacking.addSaved(parts.weights, "data/weights/", "weight_");
  const auto constants = repacking.addSaved(parts.constants, "data/constants/", "tensor_");
  ASSIGN_OR_RETURN(auto archive, std::move(repacking).archive());
  ASSIGN_OR_RETURN(auto file, readProgramFile(*archive, parts.model));
  const Signature signature = readSignature(file);
  file.weights = tableOf(weights, true, signature, file.graph());
  file.constants = tableOf(constants, false, signature, file.graph());
  return LegacyProgram{std::move(archive), std::move(file)};
}

}  // namespace

Result<LegacyProgram> readLegacyProgram(const std::shared_ptr<const Archive>& container) {
  const std::filesystem::path path = container->file().path();
  try {
    return repacked(container);
  } catch (const UnsupportedProgram& error) {
    return tl::unexpected(unsupportedProgram(path, error));
  } catch (const BrokenDocument& error) {
    return tl::unexpected(damagedProgram(path, error.what()));
  }
}

}  // namespace normlens::formats::pt2
