#include "core/formats/pt2/file/container.h"

#include <algorithm>
#include <string_view>

#include "core/base/printable.h"

namespace normlens::formats::pt2 {
namespace {

constexpr std::string_view kModels = "models/", kJson = ".json", kFlatProgram = "serialized_exported_program.json",
                           kUsualModel = "model";

std::string_view inFolder(const Archive& archive, const ZipRecord& record) {
  const std::string_view name = record.name;
  return name.starts_with(archive.prefix()) ? name.substr(archive.prefix().size()) : std::string_view();
}

const ZipRecord* find(const Archive& archive, std::string_view name) {
  return archive.find(std::string(archive.prefix()) + std::string(name));
}

bool has(const Archive& archive, std::string_view start, std::string_view end = {}) {
  return std::ranges::any_of(archive.records(), [&](const ZipRecord& record) {
    const std::string_view name = inFolder(archive, record);
    return name.starts_with(start) && name.ends_with(end);
  });
}

// A record that is a few bytes long, without the newline at its end; empty where there is none.
std::string shortText(const Archive& archive, std::string_view name) {
  const ZipRecord* record = find(archive, name);
  constexpr uint64_t kShort = 64;
  auto text = record == nullptr ? Result<std::string>() : archive.read(*record, kShort);
  if (!text) return {};
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return *text;
}

// "decode, encode"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

}  // namespace

std::vector<std::string> modelsIn(const Archive& archive) {
  std::vector<std::string> names;
  for (const ZipRecord& record : archive.records()) {
    std::string_view name = inFolder(archive, record);
    if (!name.starts_with(kModels) || !name.ends_with(kJson)) continue;
    name.remove_prefix(kModels.size());
    name.remove_suffix(kJson.size());
    if (!name.empty() && name.find('/') == std::string_view::npos) names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Result<std::string> modelToOpen(const Archive& archive, const std::string& wanted, bool onlyOfSeveral) {
  std::vector<std::string> models = modelsIn(archive);
  if (models.empty()) models.emplace_back(kUsualModel);  // a flat container names none
  const auto has = [&](std::string_view name) { return std::ranges::find(models, name) != models.end(); };
  if (wanted.empty() || (onlyOfSeveral && models.size() == 1))
    return has(kUsualModel) ? std::string(kUsualModel) : models.front();
  if (has(wanted)) return wanted;
  return fail(ErrorCode::Usage,
              archive.file().path().string() + " holds no model '" + printable(wanted) + "' but " + listed(models),
              models.size() > 1 ? Hint("choose one of them", HintKey::Model) : Hint("leave its name out"));
}

std::string besideOthers(const Archive& archive, const std::string& model) {
  std::vector<std::string> others = modelsIn(archive);
  std::erase(others, model);
  if (others.empty()) return {};
  return "The archive holds several models; this is '" + printable(model) + "', beside " + listed(others) + ".";
}

std::string extraFile(const Archive& archive, const std::string& name) {
  const ZipRecord* record = find(archive, "extra/" + name);
  constexpr uint64_t kMost = uint64_t{1} << 20;
  const auto text = record == nullptr ? Result<std::string>() : archive.read(*record, kMost);
  return text ? *text : std::string();
}

Container containerOf(const Archive& archive) {
  if (archive.find(kFlatProgram) != nullptr) return Container::Flat;
  if (!modelsIn(archive).empty() && find(archive, "archive_format") != nullptr)
    return has(archive, "data/weights/", "_weights_config.json") || !has(archive, "data/weights/") ? Container::Archive
                                                                                                   : Container::Pickled;
  if (has(archive, "data/aotinductor/")) return Container::Compiled;
  return Container::None;
}

Status checkContainer(const Archive& archive) {
  const std::string path = archive.file().path().string();
  const auto unsupported = [&](const std::string& what, const char* hint) -> Status {
    return fail(ErrorCode::Unsupported, path + " " + what, hint);
  };
  switch (containerOf(archive)) {
    case Container::Flat:
      return {};
    case Container::Compiled:
      return unsupported("is a compiled AOTInductor package, which holds machine code and no graph",
                         "export the model itself with torch.export.save(torch.export.export(model, inputs), FILE)");
    case Container::None:
      return unsupported("is no torch.export archive", "write it with torch.export.save(...)");
    case Container::Pickled:
    case Container::Archive:
      break;
  }
  if (shortText(archive, "archive_format") != "pt2")
    return unsupported("says that it is an archive of another format than torch.export's",
                       "write it with torch.export.save(...)");
  if (const std::string version = shortText(archive, "archive_version"); version != "0")
    return unsupported("is a torch.export archive of a version that NormLens does not know",
                       "export it with torch 2.6 to 2.15");
  const std::string order = shortText(archive, "byteorder");
  if (!order.empty() && order != "little")
    return unsupported("was written on a machine of another byte order", "export it on this machine");
  return {};
}

}  // namespace normlens::formats::pt2
