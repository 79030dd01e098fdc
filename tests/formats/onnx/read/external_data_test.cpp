// Weights in files of their own: mapped, hashed, and nothing outside the folder is read.
#include <sys/stat.h>

#include <span>

#include "core/formats/file/sha256.h"
#include "tests/formats/onnx/read/read_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

namespace fs = std::filesystem;

class ExternalTest : public ReadTest {
 protected:
  // linearNorm with W in a file beside it.
  [[nodiscard]] ModelProto external(const std::string& location, const std::string& offset = "",
                                    const std::string& length = "") const {
    ModelProto model = linearNorm();
    TensorProto& weight = initializer(model, 0);
    write(folder_ / "w.data", weight.raw_data());
    weight.clear_raw_data();
    weight.set_data_location(TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
      if (value.empty() && std::string_view(key) != "location") return;
      auto* pair = weight.add_external_data();
      pair->set_key(key);
      pair->set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    entry("length", length);
    return model;
  }
};

TEST_F(ExternalTest, IsMappedFromItsOwnFile) {
  const auto opened = must(open(external("w.data", "0", "256")));
  const OnnxSource& source = opened->source();
  EXPECT_TRUE(source.externalData);
  ASSERT_TRUE(source.weights->contains("W"));
  EXPECT_EQ(source.weights->at("W").storedAt.location, "w.data");
  EXPECT_EQ(graph::toDoubles(source.weights->at("W").view)->size(), 64U);
  EXPECT_EQ(opened->facts().fileBytes, static_cast<int64_t>(fs::file_size(folder_ / "model.onnx") + 256));
}

TEST_F(ExternalTest, TheHashIsOfTheModelAndThenItsDataFiles) {
  const auto hashOf = [](const std::string& text) { return sha256Hex(std::as_bytes(std::span(text))); };
  const std::string alone = linearNorm().SerializeAsString();
  const auto plain = must(openBytes(alone));
  EXPECT_EQ(plain->fileSha256(nullptr), hashOf(alone));

  // The model names "b" before "a".
  ModelProto model = external("b.data", "0", "256");
  const std::string weights(256, 'w'), scale(32, 's');
  fs::rename(folder_ / "w.data", folder_ / "b.data");
  write(folder_ / "b.data", weights);
  write(folder_ / "a.data", scale);
  TensorProto& g = initializer(model, 2);
  g.clear_raw_data();
  g.set_data_location(TensorProto::EXTERNAL);
  auto* place = g.add_external_data();
  place->set_key("location");
  place->set_value("a.data");
  const std::string text = model.SerializeAsString();
  const auto opened = openBytes(text);
  ASSERT_TRUE(opened) << opened.error().message;
  // Of the files as they were opened, whatever lies there now.
  fs::remove(folder_ / "a.data");
  EXPECT_EQ((*opened)->fileSha256(nullptr), hashOf(text + scale + weights));

  write(folder_ / "a.data", std::string(32, 't'));
  const auto other = must(openBytes(text));
  EXPECT_EQ(other->fileSha256(nullptr), hashOf(text + std::string(32, 't') + weights));
}

TEST_F(ExternalTest, StaysInTheFolder) {
  write(outside_ / "secret", std::string(4096, 'x'));
  fs::create_symlink(outside_ / "secret", folder_ / "link");
  fs::create_directory_symlink(outside_.path(), folder_ / "up");
  fs::create_directory(folder_ / "sub");
  write(folder_ / "sub" / "w.data", std::string(256, '\0'));
  for (const std::string location :
       {"../secret", "sub/../../secret", "link", "up/secret", "/etc/passwd", "\\etc\\passwd", "C:w.data"}) {
    const std::string words = refusal(external(location));
    EXPECT_NE(words.find("'" + location + "'"), std::string::npos) << words;
  }
  EXPECT_EQ(refusal(external("sub/w.data")), "");
  EXPECT_EQ(refusal(external("sub/../w.data")), "");
  fs::create_symlink("w.data", folder_ / "inside");
  EXPECT_EQ(refusal(external("inside")), "");
}

// As a cache of downloads keeps a model: the names in one folder, the bytes in another.
TEST_F(ExternalTest, MayLieWhereTheLinkToTheModelLeads) {
  const ModelProto model = external("w.data");
  fs::create_directory(outside_ / "blobs");
  write(outside_ / "blobs" / "1", model.SerializeAsString());
  fs::rename(folder_ / "w.data", outside_ / "blobs" / "2");
  fs::create_symlink(outside_ / "blobs" / "1", folder_ / "model.onnx");
  fs::create_symlink(outside_ / "blobs" / "2", folder_ / "w.data");
  const auto opened = must(OnnxModel::open(folder_ / "model.onnx", {}));
  EXPECT_EQ(opened->source().weights->at("W").storedAt.location, "w.data");

  write(outside_ / "secret", std::string(4096, 'x'));
  fs::remove(folder_ / "w.data");
  fs::create_symlink(outside_ / "secret", folder_ / "w.data");
  EXPECT_PRED2(contains, failureOf(OnnxModel::open(folder_ / "model.onnx", {})).message,
               "a link that leaves the model's folder");
}

TEST_F(ExternalTest, RefusesWrongPlaces) {
  EXPECT_NE(refusal(external("")).find("without a location"), std::string::npos);
  EXPECT_NE(refusal(external(std::string("w.data\0x", 8))).find("without a location"), std::string::npos);
  EXPECT_NE(refusal(external("missing")).find("not next to the model"), std::string::npos);
  EXPECT_NE(refusal(external(".")).find("not a file"), std::string::npos);
  EXPECT_NE(refusal(external("w.data", "-1")).find("negative external data offset"), std::string::npos);
  EXPECT_NE(refusal(external("w.data", "1e3")).find("senseless external data offset"), std::string::npos);
  EXPECT_NE(refusal(external("w.data", "99999999999999999999999")).find("senseless"), std::string::npos);
  EXPECT_NE(refusal(external("w.data", "4")).find("needs bytes 4 to 260 of 'w.data', which has 256"),
            std::string::npos);
  EXPECT_NE(refusal(external("w.data", "18446744073709551615")).find("needs bytes"), std::string::npos);
  EXPECT_NE(refusal(external("w.data", "0", "4611686018427387904")).find("its dimensions ask for 256"),
            std::string::npos);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal(external("pipe")).find("not a file"), std::string::npos);
}

}  // namespace
}  // namespace normlens::formats::onnx
