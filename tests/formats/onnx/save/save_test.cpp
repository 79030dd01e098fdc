// Writing models: what comes back is what was written, and nothing passes through twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/formats/onnx/save/save_layout.h"
#include "tests/formats/onnx/onnx_fixture.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::onnx {
namespace {

namespace fs = std::filesystem;

std::string textOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

ModelProto twoLayers() {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "test", doc_string: "two layers">
    g (float[2, 8] x) => (float[2, 16] y) {
      h = MatMul(x, w)
      y = MatMul(h, v)
    })");
  addTensor(model, "w", {8, 64}, 1);
  addTensor(model, "v", {64, 16}, 2);
  addTensor(model, "small", {3}, 3);
  auto* entry = model.add_metadata_props();
  entry->set_key("author");
  entry->set_value("somebody");
  return model;
}

// The same with its large tensors in one file or one file each, at multiples of `alignment`.
void writeExternal(ModelProto model, const fs::path& path, bool oneFile, uint64_t alignment) {
  std::string data;
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.raw_data().size() < 1024) continue;
    if (oneFile) data.resize((data.size() + alignment - 1) / alignment * alignment);
    const std::string location = oneFile ? path.filename().string() + ".data" : tensor.name();
    const auto set = [&](const char* key, const std::string& value) {
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    set("location", location);
    if (oneFile) set("offset", std::to_string(data.size()));
    set("length", std::to_string(tensor.raw_data().size()));
    if (oneFile) data += tensor.raw_data();
    if (!oneFile) write(path.parent_path() / location, tensor.raw_data());
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
  }
  if (oneFile) write(path.parent_path() / (path.filename().string() + ".data"), data);
  write(path, model.SerializeAsString());
}

std::unique_ptr<OnnxModel> opened(const fs::path& path) {
  auto model = OnnxModel::open(path, {});
  if (!model) throw std::runtime_error(model.error().message);
  return std::move(*model);
}

// With one tensor replaced by zeros and a copy of the other beside it.
OnnxSource changed(const OnnxSource& source) {
  OnnxSource out = source;
  auto weights = std::make_shared<Weights>(*source.weights);
  auto zeros = std::make_shared<std::string>(weights->at("w").storedAt.bytes, '\0');
  Weight& w = weights->at("w");
  w.view.data = reinterpret_cast<const std::byte*>(zeros->data());
  w.view.owner = zeros;
  w.asOpened = false;
  Weight copy = weights->at("v");
  copy.asOpened = false;
  weights->emplace("v_centered", copy);
  auto skeleton = std::make_shared<ModelProto>(*source.skeleton);
  auto* stub = skeleton->mutable_graph()->add_initializer();
  for (const int64_t dim : copy.view.shape) stub->add_dims(dim);
  stub->set_name("v_centered");
  stub->set_data_type(TensorProto::FLOAT);
  stub->set_data_location(TensorProto::EXTERNAL);
  out.skeleton = skeleton;
  out.weights = weights;
  return out;
}

TEST(OnnxSave, AnUntouchedModelIsTheSameFile) {
  const TemporaryFolder folder;
  const std::string bytes = twoLayers().SerializeAsString();
  write(folder / "a.onnx", bytes);
  ASSERT_TRUE(opened(folder / "a.onnx")->save(folder / "b.onnx", {}).has_value());
  EXPECT_EQ(textOf(folder / "b.onnx"), bytes);
}

TEST(OnnxSave, PackedFloatsStayInTheirField) {
  const TemporaryFolder folder;
  ModelProto model = twoLayers();
  auto& tensor = *model.mutable_graph()->mutable_initializer(0);
  const std::string raw = tensor.raw_data();
  tensor.clear_raw_data();
  const auto* numbers = reinterpret_cast<const float*>(raw.data());
  tensor.mutable_float_data()->Add(numbers, std::next(numbers, static_cast<ptrdiff_t>(raw.size() / sizeof(float))));
  write(folder / "a.onnx", model.SerializeAsString());
  const auto source = opened(folder / "a.onnx");
  ASSERT_EQ(source->source().weights->count("w"), 1U);
  ASSERT_TRUE(source->save(folder / "b.onnx", {}).has_value());
  EXPECT_EQ(textOf(folder / "b.onnx"), model.SerializeAsString());
}

TEST(OnnxSave, AnnotationsReplaceThoseOfTheSameKey) {
  const TemporaryFolder folder;
  write(folder / "a.onnx", twoLayers().SerializeAsString());
  const auto model = opened(folder / "a.onnx");
  model->annotate({{"normlens.plan", "{}"}});
  ASSERT_TRUE(model->save(folder / "b.onnx", {}).has_value());
  const auto again = opened(folder / "b.onnx");
  again->annotate({{"normlens.plan", "{1}"}, {"author", "nobody"}});
  ASSERT_TRUE(again->save(folder / "c.onnx", {}).has_value());
  ModelProto out;
  ASSERT_TRUE(out.ParseFromString(textOf(folder / "c.onnx")));
  ASSERT_EQ(out.metadata_props_size(), 2);
  EXPECT_EQ(out.metadata_props(0).value(), "nobody");
  EXPECT_EQ(out.metadata_props(1).value(), "{1}");
  out.clear_metadata_props();
  ModelProto expected = twoLayers();
  expected.clear_metadata_props();
  EXPECT_EQ(out.SerializeAsString(), expected.SerializeAsString());
}

// What is known only when the rest is written stands where it belongs; where it cannot be told, nothing is written.
TEST(OnnxSave, ATextMayComeLate) {
  const TemporaryFolder folder;
  write(folder / "a.onnx", twoLayers().SerializeAsString());
  const auto model = opened(folder / "a.onnx");
  const std::string standIn = "########";
  int waits = 0;
  model->annotate({{"plan", "of " + standIn}, {"source", standIn}}, {standIn, [&](const Task&) -> Result<std::string> {
                                                                       ++waits;
                                                                       return std::string("0a1b2c3d");
                                                                     }});
  ASSERT_TRUE(model->save(folder / "b.onnx", {}).has_value());
  EXPECT_EQ(waits, 1);
  ModelProto out;
  ASSERT_TRUE(out.ParseFromString(textOf(folder / "b.onnx")));
  const auto& texts = out.metadata_props();
  EXPECT_EQ(std::ranges::find(texts, "plan", &::ONNX_NAMESPACE::StringStringEntryProto::key)->value(), "of 0a1b2c3d");
  EXPECT_EQ(std::ranges::find(texts, "source", &::ONNX_NAMESPACE::StringStringEntryProto::key)->value(), "0a1b2c3d");

  model->annotate({{"source", standIn}}, {standIn, [](const Task&) -> Result<std::string> {
                                            return fail(ErrorCode::Unreadable, "a.onnx cannot be read any more");
                                          }});
  EXPECT_EQ(failureOf(model->save(folder / "c.onnx", {})).message, "a.onnx cannot be read any more");
  EXPECT_FALSE(std::filesystem::exists(folder / "c.onnx"));
}

TEST(OnnxSave, OneDataFileKeepsItsLayout) {
  const TemporaryFolder folder;
  writeExternal(twoLayers(), folder / "a.onnx", /*oneFile=*/true, 4096);
  const auto model = opened(folder / "a.onnx");
  ASSERT_TRUE(model->save(folder / "b.onnx", {}).has_value());
  EXPECT_EQ(textOf(folder / "b.onnx.data"), textOf(folder / "a.onnx.data"));
  const auto back = opened(folder / "b.onnx");
  EXPECT_EQ(wholeModel(back->source()).SerializeAsString(), twoLayers().SerializeAsString());
}

TEST(OnnxSave, ChangedTensorsTakeTheirPlaceAndCopiesGoToTheEnd) {
  const TemporaryFolder folder;
  writeExternal(twoLayers(), folder / "a.onnx", /*oneFile=*/true, 4096);
  const std::string before = textOf(folder / "a.onnx.data");
  const auto model = opened(folder / "a.onnx");
  auto edited = OnnxModel::fromSource(changed(model->source()), model->facts());
  ASSERT_TRUE(edited.has_value());
  ASSERT_TRUE((*edited)->save(folder / "b.onnx", {}).has_value());
  const std::string after = textOf(folder / "b.onnx.data");
  EXPECT_EQ(textOf(folder / "a.onnx.data"), before);
  ASSERT_EQ(after.size(), 8192U + 4096U);
  EXPECT_EQ(after.substr(0, 2048), std::string(2048, '\0'));
  EXPECT_EQ(after.substr(4096, 4096), before.substr(4096));
  EXPECT_EQ(after.substr(8192), before.substr(4096));
  const auto back = opened(folder / "b.onnx");
  EXPECT_EQ(back->source().weights->at("v_centered").storedAt.offset, 8192U);
  EXPECT_EQ(checkerSays(wholeModel(back->source())), "");
}

TEST(OnnxSave, OneFilePerTensorStaysSo) {
  const TemporaryFolder folder;
  writeExternal(twoLayers(), folder / "a.onnx", /*oneFile=*/false, 1);
  const auto model = opened(folder / "a.onnx");
  auto edited = OnnxModel::fromSource(changed(model->source()), model->facts());
  ASSERT_TRUE(edited.has_value());
  ASSERT_TRUE((*edited)->save(folder / "b.onnx", {}).has_value());
  EXPECT_EQ(textOf(folder / "b.onnx.w"), std::string(2048, '\0'));
  EXPECT_EQ(textOf(folder / "b.onnx.v"), textOf(folder / "v"));
  EXPECT_EQ(textOf(folder / "b.onnx.v_centered"), textOf(folder / "v"));
  EXPECT_EQ(textOf(folder / "w").size(), 2048U);
  EXPECT_EQ(opened(folder / "b.onnx")->source().weights->size(), 3U);
}

TEST(OnnxSave, NeverOverwritesADataFileOfTheOpenedModel) {
  const TemporaryFolder folder;
  writeExternal(twoLayers(), folder / "a.onnx", /*oneFile=*/true, 64);
  fs::create_hard_link(folder / "a.onnx.data", folder / "b.onnx.data");
  const std::string before = textOf(folder / "a.onnx.data");
  ASSERT_TRUE(opened(folder / "a.onnx")->save(folder / "b.onnx", {}).has_value());
  EXPECT_EQ(textOf(folder / "a.onnx.data"), before);
  EXPECT_TRUE(fs::exists(folder / "b.onnx.data_2"));
  EXPECT_EQ(opened(folder / "b.onnx")->source().weights->at("w").storedAt.location, "b.onnx.data_2");
}

// A file's own words may be anything: a name made of them can be written, and read in one line.
TEST(OnnxSave, DataFilesGetNamesThatAFolderCanHold) {
  const TemporaryFolder folder;
  writeExternal(twoLayers(), folder / "a.onnx", /*oneFile=*/false, 64);
  const auto model = opened(folder / "a.onnx");
  const auto nameFor = [&](const std::string& location, const std::string& out) {
    OnnxSource source = model->source();
    auto weights = std::make_shared<Weights>(*source.weights);
    for (auto& [name, weight] : *weights) weight.storedAt.location = location;
    source.weights = weights;
    const auto layout = SaveLayout::make(source, folder / out, {});
    return layout ? layout->files().front().path.filename().string() : layout.error().message;
  };
  EXPECT_EQ(nameFor("a\n\x1b[2Jb\xE2\x80\xAE.bin", "b.onnx"), "b.onnx.a__[2Jb___.bin");
  std::string syllables;
  for (int i = 0; i < 100; ++i) syllables += "\xE6\xA8\xA1";
  EXPECT_EQ(nameFor(syllables, "b.onnx"), "b.onnx." + syllables.substr(0, 243));
  write(folder / ("b.onnx." + syllables.substr(0, 243)), "taken");
  EXPECT_EQ(nameFor(syllables, "b.onnx"), "b.onnx." + syllables.substr(0, 243) + "_2");
  const std::string longest = std::string(245, 'o') + ".onnx";
  EXPECT_EQ(nameFor("a.onnx.data", longest), longest + ".data");
}

TEST(OnnxSave, AModelTooLargeForOneFileGetsADataFile) {
  const TemporaryFolder folder;
  write(folder / "a.onnx", twoLayers().SerializeAsString());
  const auto model = opened(folder / "a.onnx");
  const auto layout = SaveLayout::make(model->source(), folder / "b.onnx", {}, 4000);
  ASSERT_TRUE(layout.has_value());
  ASSERT_EQ(layout->files().size(), 2U);
  for (const auto& contents : layout->files()) {
    std::string bytes(contents.size, '\0');
    for (const FilePiece& piece : contents.pieces) {
      const auto range = piece.bytes;
      bytes.replace(piece.offset, range.size(), reinterpret_cast<const char*>(range.data()), range.size());
    }
    write(contents.path, bytes);
  }
  EXPECT_EQ(fs::file_size(folder / "b.onnx.data") % 65536, 2048U);  // v, then w at a page of its own
  const auto back = opened(folder / "b.onnx");
  EXPECT_EQ(wholeModel(back->source()).SerializeAsString(), twoLayers().SerializeAsString());
  EXPECT_FALSE(SaveLayout::make(model->source(), folder / "c.onnx", {}, 10).has_value());
}

TEST(OnnxSave, NothingIsLeftBehindWhereItFails) {
  const TemporaryFolder folder;
  writeExternal(twoLayers(), folder / "a.onnx", /*oneFile=*/true, 64);
  fs::create_directory(folder / "b.onnx");
  EXPECT_FALSE(opened(folder / "a.onnx")->save(folder / "b.onnx", {}).has_value());
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 3U);
}

}  // namespace
}  // namespace normlens::formats::onnx
