// Saving over an older export, broken off at every step: what lies there afterwards is wholly the old or the new model.
//
// The steps are the calls that name, flush and remove files; this program has them in place of the C library's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <set>

#include "tests/formats/onnx/onnx_fixture.h"
#include "tests/support/temporary_folder.h"

namespace {

// What becomes of the step-th call from now on; functions in place of the C library's have no other way to know.
enum class Fault : uint8_t { None, Fails, Dies };
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
Fault fault = Fault::None;
int stepsLeft = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

bool broken() {
  if (fault == Fault::None || stepsLeft-- > 0) return false;
  if (fault == Fault::Dies) ::kill(::getpid(), SIGKILL);
  fault = Fault::None;
  errno = EIO;
  return true;
}

}  // namespace

extern "C" {
int rename(const char* from, const char* to) noexcept {
  return broken() ? -1 : static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int renameat2(int fromFolder, const char* from, int toFolder, const char* to, unsigned flags) noexcept {
  return broken() ? -1 : static_cast<int>(::syscall(SYS_renameat2, fromFolder, from, toFolder, to, flags));
}
int linkat(int fromFolder, const char* from, int toFolder, const char* to, int flags) noexcept {
  return broken() ? -1 : static_cast<int>(::syscall(SYS_linkat, fromFolder, from, toFolder, to, flags));
}
int fsync(int file) { return broken() ? -1 : static_cast<int>(::syscall(SYS_fsync, file)); }
}

namespace normlens::formats::onnx {
namespace {

namespace fs = std::filesystem;

constexpr int kMostSteps = 12;  // more than a save takes

class SaveCrash : public testing::Test {
 protected:
  SaveCrash() {
    writeModel("old_source.onnx", 1);
    writeModel("new_source.onnx", 2);
  }

  // One MatMul, its weight in a data file of its own; the same sizes whatever the seed.
  void writeModel(const std::string& name, int seed) const {
    ModelProto model = modelFromText(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[2, 32] x) => (float[2, 32] y) { y = MatMul(x, w) })");
    addTensor(model, "w", {32, 32}, seed);
    auto& tensor = *model.mutable_graph()->mutable_initializer(0);
    std::ofstream(folder_ / (name + ".data"), std::ios::binary) << tensor.raw_data();
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    auto* entry = tensor.add_external_data();
    entry->set_key("location");
    entry->set_value(name + ".data");
    model.set_doc_string(name);
    std::ofstream(folder_ / name, std::ios::binary) << model.SerializeAsString();
  }

  [[nodiscard]] std::unique_ptr<OnnxModel> opened(const std::string& name) const {
    auto model = OnnxModel::open(folder_ / name, {});
    if (!model) throw std::runtime_error(model.error().message);
    return std::move(*model);
  }

  // As the service does: the file says who wrote it.
  void exportFrom(const std::string& source, const std::string& out = "out.onnx") const {
    const auto model = opened(source);
    model->annotate({{"normlens.version", "0"}}, {});
    if (auto saved = model->save(folder_ / out, {}); !saved) throw std::runtime_error(saved.error().message);
  }
  // The only tensor of a model in the folder.
  void nameData(const std::string& model, const std::string& location) const {
    ModelProto proto = *opened(model)->source().skeleton;
    for (auto& entry : *proto.mutable_graph()->mutable_initializer(0)->mutable_external_data())
      if (entry.key() == "location") entry.set_value(location);
    std::ofstream(folder_ / model, std::ios::binary) << proto.SerializeAsString();
  }

  // The source whose graph and weights out.onnx has; "mixed" where they are of two.
  [[nodiscard]] std::string whatIsThere() const {
    const auto out = opened("out.onnx");
    const std::string source = out->source().skeleton->doc_string();
    const auto expected = opened(source);
    const auto& weight = out->source().weights->at("w");
    const bool same =
        std::memcmp(weight.view.data, expected->source().weights->at("w").view.data, weight.storedAt.bytes) == 0;
    return same ? source : "mixed";
  }

  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.insert(entry.path().filename().string());
    return names;
  }

  const TemporaryFolder folder_;
};

TEST_F(SaveCrash, KilledAtAnyStepLeavesTheOldModelOrTheNewOne) {
  std::set<std::string> seen;
  for (int step = 0; step < kMostSteps; ++step) {
    for (const auto& name : files()) {
      if (name.starts_with("out")) fs::remove(folder_ / name);
    }
    exportFrom("old_source.onnx");
    const auto model = opened("new_source.onnx");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      fault = Fault::Dies;
      stepsLeft = step;
      ::_exit(model->save(folder_ / "out.onnx", {}) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const std::string there = whatIsThere();
    ASSERT_NE(there, "mixed") << "killed at step " << step;
    seen.insert(there);
    if (!WIFEXITED(status)) continue;
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(there, "new_source.onnx");
    EXPECT_GE(step, 4) << "a save flushes and names two files";
    EXPECT_EQ(seen.size(), 2U);
    return;
  }
  FAIL() << "no save came to its end";
}

TEST_F(SaveCrash, AStepThatFailsLeavesNothingOfTheNewModel) {
  exportFrom("old_source.onnx");
  const auto before = files();
  int failed = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    const auto model = opened("new_source.onnx");
    fault = Fault::Fails;
    stepsLeft = step;
    const auto saved = model->save(folder_ / "out.onnx", {});
    fault = Fault::None;
    if (saved) break;
    ++failed;
    EXPECT_EQ(whatIsThere(), "old_source.onnx") << "failed at step " << step;
    EXPECT_EQ(files(), before) << "failed at step " << step;
  }
  EXPECT_GE(failed, 2);
}

TEST_F(SaveCrash, TheDataOfTheReplacedModelGoesOnceNobodyNeedsIt) {
  exportFrom("old_source.onnx");
  const auto once = files();
  EXPECT_TRUE(once.contains("out.onnx.data"));
  exportFrom("new_source.onnx");
  EXPECT_FALSE(files().contains("out.onnx.data"));
  EXPECT_TRUE(files().contains("out.onnx.data_2"));
  exportFrom("old_source.onnx");
  EXPECT_EQ(files(), once);
}

TEST_F(SaveCrash, DataThatAnotherModelNeedsStays) {
  exportFrom("old_source.onnx");
  fs::copy_file(folder_ / "out.onnx", folder_ / "copy.onnx");
  exportFrom("new_source.onnx");
  EXPECT_EQ(whatIsThere(), "new_source.onnx");
  EXPECT_NO_THROW(static_cast<void>(opened("copy.onnx")));
  EXPECT_TRUE(files().contains("out.onnx.data"));
}

TEST_F(SaveCrash, DataStaysWhateverTheModelThatNeedsItIsCalled) {
  for (const char* copy : {"out.onnx.bak", "copy.ONNX", "copy"}) {
    exportFrom("old_source.onnx");
    const auto before = opened("out.onnx");
    const std::string data = before->source().weights->at("w").storedAt.location;
    fs::copy_file(folder_ / "out.onnx", folder_ / copy);
    exportFrom("new_source.onnx");
    EXPECT_TRUE(files().contains(data)) << copy;
    fs::remove(folder_ / copy);
  }
}

// The data of the opened model lies in a folder below it.
TEST_F(SaveCrash, DataOfTheOpenedModelStaysWhereverThatIs) {
  fs::create_directory(folder_ / "below");
  const fs::path out = folder_ / "below" / "out.onnx", data = folder_ / "below" / "out.onnx.data";
  ASSERT_TRUE(opened("old_source.onnx")->save(out, {}).has_value());
  ModelProto model = *opened("below/out.onnx")->source().skeleton;
  for (auto& entry : *model.mutable_graph()->mutable_initializer(0)->mutable_external_data())
    if (entry.key() == "location") entry.set_value("below/out.onnx.data");
  std::ofstream(folder_ / "above.onnx", std::ios::binary) << model.SerializeAsString();
  ASSERT_TRUE(opened("above.onnx")->save(out, {}).has_value());
  EXPECT_TRUE(fs::exists(data));
  EXPECT_NO_THROW(static_cast<void>(opened("above.onnx")));
}

TEST_F(SaveCrash, DataStaysWhereAModelBesideItCannotBeRead) {
  exportFrom("old_source.onnx");
  std::ofstream(folder_ / "damaged.onnx") << "not a model";
  exportFrom("new_source.onnx");
  EXPECT_TRUE(files().contains("out.onnx.data"));
}

TEST_F(SaveCrash, OtherFilesThatTheReplacedModelNamesStay) {
  for (const char* other : {"outline.txt", "out.onnx.bak"}) {
    exportFrom("old_source.onnx");
    const std::string data = opened("out.onnx")->source().weights->at("w").storedAt.location;
    fs::copy_file(folder_ / data, folder_ / other);
    nameData("out.onnx", other);
    exportFrom("new_source.onnx");
    EXPECT_TRUE(files().contains(other));
    EXPECT_EQ(whatIsThere(), "new_source.onnx");
  }
}

TEST_F(SaveCrash, DataOfAModelThatAnotherProgramWroteStays) {
  fs::copy_file(folder_ / "old_source.onnx", folder_ / "out.onnx");
  fs::copy_file(folder_ / "old_source.onnx.data", folder_ / "out.onnx.data");
  nameData("out.onnx", "out.onnx.data");
  exportFrom("new_source.onnx");
  EXPECT_TRUE(files().contains("out.onnx.data"));
}

TEST_F(SaveCrash, AModelMayReplaceItself) {
  exportFrom("old_source.onnx", "again.onnx");
  const auto model = opened("again.onnx");
  ASSERT_TRUE(model->save(folder_ / "again.onnx", {}).has_value());
  EXPECT_FALSE(files().contains("again.onnx.data"));
  const auto back = opened("again.onnx");
  EXPECT_EQ(wholeModel(back->source()).SerializeAsString(), wholeModel(model->source()).SerializeAsString());
}

}  // namespace
}  // namespace normlens::formats::onnx
