// An object of another class than the code reads it as: LibTorch itself would read past its end.
#include <deque>

#include "core/formats/archive/archive_writer.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

// A module of two: the first has more attributes than the second.
torch::jit::Module pair() {
  torch::jit::Module large("Large"), small("Small"), both("Both");
  for (const char* name : {"k", "l", "m", "n"}) large.register_parameter(name, draw({2}, 1, at::kFloat), false);
  small.register_parameter("k", draw({2}, 1, at::kFloat), false);
  both.register_module("large", large);
  both.register_module("small", small);
  both.define("def forward(self, x):\n  return x * self.large.n + self.small.k\n");
  return both;
}

TEST(ObjectTypes, AnotherClassIsRefused) {
  const TemporaryFolder folder;
  const auto sound = folder / "sound.pt", bent = folder / "bent.pt";
  pair().save(sound.string());
  EXPECT_TRUE(TorchScriptModel::open(sound, {}));
  const auto archive = Archive::open(MappedFile::open(sound).value()).value();
  std::vector<RecordToWrite> records;
  std::deque<std::string> contents;
  for (const ZipRecord& record : archive->records()) {
    std::string& content = contents.emplace_back(archive->read(record, 1 << 20).value());
    const size_t at = record.name.ends_with("/data.pkl") ? content.find("Large\n") : std::string::npos;
    if (at != std::string::npos) content.replace(at, 6, "Small\n");
    records.push_back({record.name, ZipMethod::Stored, content.size(), {std::as_bytes(std::span(content))}, {}});
  }
  ASSERT_TRUE(writeArchive(bent, std::move(records), {}, {}));
  const auto model = TorchScriptModel::open(bent, {});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("'large' holds what is no __torch__.Large"), std::string::npos)
      << model.error().message;
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
