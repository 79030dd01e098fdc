// libFuzzer target: a TorchScript file up to where LibTorch would see it. Bytes that start as a zip go through the
// whole check of an archive, those that start as a pickle through the scan, all others are code.
#include "core/formats/archive/pickle_scan.h"
#include "core/formats/torchscript/file/archive_check.h"
#include "tests/fuzz/fuzz_support.h"

namespace {

using namespace normlens;
using namespace normlens::formats;
using namespace normlens::formats::torchscript;

void check(const std::filesystem::path& path) {
  const auto file = formats::MappedFile::open(path);
  if (!file) return fuzz::expectRefusal(file.error());
  const auto archive = openCheckedArchive(*file);
  if (!archive) return fuzz::expectRefusal(archive.error());
  static_cast<void>(checkCrcs(**archive, 1));
}

void scan(std::string_view pickle) {
  const auto looked = scanPickle(pickle);
  const auto loaded = scanPickle(pickle, PickleUse::Load);
  const auto withEnums = scanPickle(pickle, PickleUse::LoadWithEnums);
  // Each refuses what the one before it refuses, but for what it says of tensors.
  if (withEnums && !loaded) fuzz::found("enums only: " + loaded.error().message);
  if (!loaded) return;
  if (!looked) fuzz::found("loaded only: " + looked.error().message);
  for (const DeclaredStorage& storage : loaded->storages) {
    if (storage.elements < 0 || storage.reads == 0) fuzz::found("storage " + storage.key);
  }
  const auto moved = scanPickle(withDevice(pickle, *looked, "cuda:0"));
  if (!moved) fuzz::found("moved: " + moved.error().message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("PK")) {
    check(folder.write("model.pt", {data, size}));
  } else if (text.starts_with('\x80')) {
    scan(text);
  } else {
    static_cast<void>(beyondLibTorchsParser(text));
  }
  return 0;
}
