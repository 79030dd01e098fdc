// Files that were made on a GPU: they run here, and what is saved is for that GPU again.
#include "core/formats/torchscript/program/file_devices.h"
#include "core/formats/archive/archive_writer.h"
#include "core/formats/archive/pickle_scan.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

std::shared_ptr<const Archive> archiveAt(const std::filesystem::path& path) {
  return Archive::open(MappedFile::open(path).value()).value();
}

std::string codeOf(const Archive& archive) {
  std::string code;
  for (const ZipRecord& record : archive.records()) {
    if (record.name.ends_with(".py")) code += archive.read(record, 1 << 20).value();
  }
  return code;
}

void replaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// As torch would have written it on a machine with a GPU.
void moveToGpu(const std::filesystem::path& from, const std::filesystem::path& to) {
  const auto archive = archiveAt(from);
  std::vector<RecordToWrite> records;
  std::deque<std::string> contents;
  for (const ZipRecord& record : archive->records()) {
    contents.push_back(archive->read(record, 1 << 20).value());
    std::string& content = contents.back();
    if (record.name.ends_with(".py")) replaceAll(content, "torch.device(\"cpu\")", "torch.device(\"cuda:0\")");
    if (record.name.ends_with("data.pkl")) content = withDevice(content, scanPickle(content).value(), "cuda:0");
    records.push_back({record.name, ZipMethod::Stored, content.size(), {std::as_bytes(std::span(content))}, {}});
  }
  ASSERT_TRUE(writeArchive(to, std::move(records), {}, {}));
}

torch::jit::Module naming() {
  torch::jit::Module m("Naming");
  m.register_parameter("w", draw({8, 8}, 1, at::kFloat), false);
  m.register_parameter("v", draw({8}, 2, at::kFloat), false);
  m.register_attribute("place", c10::StringType::get(), "cpu");
  m.define(R"(
def forward(self, x):
  h = torch.linear(x, self.w) + torch.zeros([8], dtype=None, layout=None, device=torch.device("cpu"), pin_memory=False)
  return torch.layer_norm(h, [8], self.v)
)");
  return m;
}

TEST(FileDevices, AModelOfAGpuRunsHereAndIsSavedForThatGpu) {
  const TemporaryFolder folder;
  naming().save((folder / "cpu.pt").string());
  moveToGpu(folder / "cpu.pt", folder / "gpu.pt");
  ASSERT_NE(codeOf(*archiveAt(folder / "gpu.pt")).find("cuda:0"), std::string::npos);

  const auto opened = must(TorchScriptModel::open(folder / "gpu.pt", {}));
  const auto x = draw({3, 8}, 3, at::kFloat);
  const formats::Tensors inputs{{"in_0", viewOf(x)}};
  ASSERT_TRUE(opened->probe(inputs, {}));
  EXPECT_EQ(relativeDifference(naming().forward({x}).toTensor(), runOn(*opened, {x})), 0);

  for (const auto& edits : {std::vector<fold::Edit>{}, {centerOver(opened->graph(), "w", 0), fold::ReplaceNorm{0}}}) {
    const auto copy = applied(*opened, edits);
    ASSERT_TRUE(copy->save(folder / "saved.pt", {}));
    const auto saved = archiveAt(folder / "saved.pt");
    const std::string code = codeOf(*saved);
    EXPECT_NE(code.find("torch.device(\"cuda:0\")"), std::string::npos) << code;
    EXPECT_EQ(code.find("torch.device(\"cpu\")"), std::string::npos);
    EXPECT_EQ(deviceOfTensors(*saved, "data.pkl"), "cuda:0");
    const auto loaded = torch::jit::load((folder / "saved.pt").string(), at::Device(at::kCPU));
    EXPECT_EQ(loaded.attr("place").toStringRef(), "cpu") << "a text is no device";
    EXPECT_NO_THROW(static_cast<void>(runOn(*copy, {x}))) << "after saving, too";
  }
}

TEST(FileDevices, TensorsOnSeveralAreLeftOnTheCpu) {
  const auto byte = [](int value) { return std::string(1, static_cast<char>(value)); };
  const auto text = [&](const std::string& s) {
    return "X" + byte(static_cast<int>(s.size())) + std::string(3, '\0') + s;
  };
  const auto storage = [&](const std::string& key, const std::string& device) {
    return "(" + text("storage") + "ctorch\nFloatStorage\n" + text(key) + text(device) + "K" + byte(4) + "tQ";
  };
  const std::string pickle = "\x80\x02(" + storage("0", "cuda:0") + storage("1", "cpu") + "t.";
  const auto scan = must(scanPickle(pickle));
  EXPECT_EQ(scan.storages[0].device, "cuda:0");
  EXPECT_EQ(scan.storages[1].device, "cpu");
  const auto moved = must(scanPickle(withDevice(pickle, scan, "cuda:1")));
  for (const auto& declared : moved.storages) EXPECT_EQ(declared.device, "cuda:1");
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
