// The zip reader and the checks before torch sees a file, on archives made here. No torch.
#include <gtest/gtest.h>

#include "core/formats/archive/pickle_scan.h"
#include "core/formats/file/file_hash.h"
#include "core/formats/file/file_kind.h"
#include "tests/formats/archive/small_archive.h"
#include "tests/support/must.h"

namespace normlens::formats::torchscript {
namespace {

TEST_F(ArchiveTest, ReadsStoredDeflatedAndZip64Records) {
  const std::string text(5000, 'a');
  const auto archive = must(open({{.name = "m/plain", .content = "hello"},
                                  {.name = "m/packed", .content = test::deflated(text), .method = 8, .size = 5000},
                                  {.name = "m/large", .content = "zip64", .zip64 = true}}));
  EXPECT_EQ(archive->prefix(), "m/");
  EXPECT_EQ(archive->records().size(), 3U);
  EXPECT_EQ(archive->read(*archive->find("m/plain"), 100).value(), "hello");
  EXPECT_EQ(archive->read(*archive->find("m/packed"), 5000).value(), text);
  EXPECT_EQ(archive->read(*archive->find("m/large"), 100).value(), "zip64");
  EXPECT_EQ(archive->find("m/absent"), nullptr);
  EXPECT_FALSE(archive->read(*archive->find("m/packed"), 4999));
}

TEST_F(ArchiveTest, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(open({{.name = "m/a", .content = "x", .flags = 1}}));                       // encrypted
  EXPECT_FALSE(open({{.name = "m/a", .content = "x", .method = 12}}));                     // bzip2
  EXPECT_FALSE(open({{.name = "m/a", .content = "x", .size = 2}}));                        // stored, two sizes
  EXPECT_FALSE(open({{.name = "m/a", .content = "x", .localName = "m/b"}}));               // two names
  EXPECT_FALSE(open({{.name = "m/a", .content = "x"}, {.name = "m/a", .content = "y"}}));  // twice
  const std::string whole = buildZip({{.name = "m/a", .content = "hello"}});
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(Archive::open(file(whole.substr(0, length)))) << length;
  }
  // Every single damaged byte of the directory is either noticed or harmless, never a crash.
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bent = whole;
    bent[i] = static_cast<char>(~bent[i]);
    const auto archive = Archive::open(file(bent));
    if (archive) (void)checkCrcs(**archive, 2);
  }
}

TEST_F(ArchiveTest, FindsWrongCrcs) {
  auto good = open({{.name = "m/a", .content = "hello"}, {.name = "m/b", .content = "world"}});
  EXPECT_TRUE(checkCrcs(**good, 2));
  auto bad = open({{.name = "m/a", .content = "hello"}, {.name = "m/b", .content = "world", .crc = 7}});
  EXPECT_PRED2(contains, failureOf(checkCrcs(**bad, 2)).message, "'m/b'");
  auto packed = open({{.name = "m/a", .content = test::deflated("hello"), .method = 8, .size = 6}});
  EXPECT_FALSE(checkCrcs(**packed, 1));
}

TEST_F(ArchiveTest, AcceptsAWholeModelAndNamesWhatIsMissing) {
  EXPECT_EQ(refusal(buildZip(smallModel())), "");
  const std::vector<std::pair<std::string, std::string>> missing = {{"m/data/0", "'data/0' is missing"},
                                                                    {"m/version", "version record is missing"},
                                                                    {"m/code/__torch__.py", "no code/ folder"},
                                                                    {"m/data.pkl", "data.pkl is missing"},
                                                                    {"m/constants.pkl", "constants.pkl is missing"}};
  for (const auto& [record, words] : missing) {
    auto entries = smallModel();
    std::erase_if(entries, [&](const ZipEntry& entry) { return entry.name == record; });
    EXPECT_NE(refusal(buildZip(entries)).find(words), std::string::npos)
        << record << ": " << refusal(buildZip(entries));
  }
}

TEST_F(ArchiveTest, ChecksTensorsAgainstTheirStorage) {
  EXPECT_NE(refusal(buildZip(smallModel(5, 4))).find("has 16 bytes, expected 5 x 4"), std::string::npos);
  EXPECT_NE(refusal(buildZip(smallModel(4, 5))).find("past the end of its storage '0'"), std::string::npos);
}

TEST_F(ArchiveTest, RefusesBombs) {
  auto entries = smallModel();
  entries.push_back({.name = "m/extra/zeros",
                     .content = test::deflated(std::string(1000, '\0')),
                     .method = 8,
                     .size = int64_t{3} << 30});
  EXPECT_NE(refusal(buildZip(entries)).find("more than 2 GiB"), std::string::npos);
  entries = smallModel();
  entries[2].content = std::string(5000, '(');
  EXPECT_NE(refusal(buildZip(entries)).find("nested too deep"), std::string::npos);
  entries = smallModel();
  entries[1].content = "\x80\x02)" + std::string(5000, '\x85') + ".";
  EXPECT_NE(refusal(buildZip(entries)).find("nested more than 1000 deep"), std::string::npos);
}

// Of a few kilobytes, DEFLATEd.
TEST_F(ArchiveTest, ManyObjectsAreRefusedBeforeTheyTakeTheMemory) {
  const auto why = [](const std::string& pickle) {
    const auto scan = scanPickle(pickle);
    return scan ? std::string() : scan.error().message;
  };
  const std::string items(1 << 20, 'N');
  EXPECT_EQ(why("\x80\x02(" + items + items + "t."), "");
  EXPECT_NE(why("\x80\x02(" + items + items + items + items + "t.").find("4 million objects"), std::string::npos);
  EXPECT_NE(why("\x80\x02" + std::string(2000, '(')).find("nested more than 1000 deep"), std::string::npos);
  std::string wide = "\x80\x02]";
  for (int i = 0; i < 3000; ++i) wide += "(NNe";
  EXPECT_EQ(why(wide + "."), "") << "marks that are closed are none";
}

// Each list is put into the next one while it is empty, and filled by way of the memo.
TEST_F(ArchiveTest, NestingThroughTheMemoCounts) {
  const auto slot = [](char opcode, int number) {
    std::string bytes(1, opcode);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xff);
    return bytes;
  };
  const auto chain = [&](int length) {
    std::string pickle = "\x80\x02(]" + slot('r', 0);
    for (int i = 1; i < length; ++i) pickle += "]" + slot('r', i) + slot('j', i - 1) + slot('j', i) + "a";
    return pickle + "t.";
  };
  EXPECT_TRUE(scanPickle(chain(900)));
  EXPECT_PRED2(contains, failureOf(scanPickle(chain(2000))).message, "nested more than 1000 deep");
  EXPECT_PRED2(contains, failureOf(scanPickle("\x80\x02]" + slot('r', 0) + slot('j', 0) + "a.")).message,
               "contains itself");
}

TEST_F(ArchiveTest, PicklesAreOnlyRead) {
  const auto scan = must(scanPickle(tensorPickle(6, 2, 4)));
  ASSERT_EQ(scan.storages.size(), 1U);
  EXPECT_EQ(scan.storages[0].elements, 6);
  EXPECT_EQ(scan.storages[0].type, "FloatStorage");
  ASSERT_EQ(scan.tensors.size(), 1U);
  EXPECT_EQ(scan.tensors[0].sizes, std::vector<int64_t>{2});
  // A class that would run something is a name and nothing more.
  EXPECT_EQ(scanPickle("cposix\nsystem\n)R.")->globals, std::vector<std::string>{"posix system"});
  const std::string whole = tensorPickle(6, 2);
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_FALSE(scanPickle(whole.substr(0, length)));
}

TEST(FileKindTest, TellsFilesByTheirContent) {
  const auto kind = [](std::string_view text) {
    return detectKind(std::as_bytes(std::span(text.data(), text.size())));
  };
  EXPECT_EQ(kind(""), FileKind::Empty);
  EXPECT_EQ(kind("PK"), FileKind::Zip);
  EXPECT_EQ(kind("hello world"), FileKind::Text);
  EXPECT_EQ(kind("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), FileKind::GitLfsPointer);
  EXPECT_EQ(kind(std::string_view("\x10\0\0\0\0\0\0\0{\"a\":1}", 15)), FileKind::Safetensors);
  EXPECT_EQ(kind(std::string_view("\x80\x02}q\0.", 6)), FileKind::Pickle);
  EXPECT_EQ(kind(std::string_view("\x08\x08\x12\x04test:\x00", 10)), FileKind::Onnx);
  EXPECT_EQ(kind(std::string_view("\x01\x02\x03\xff", 4)), FileKind::Unknown);
}

TEST(FileKindTest, OtherProgramsModelsAreNamed) {
  for (const auto& [bytes, name] : {std::pair{std::string("GGUF\3\0\0\0", 8), "a GGUF file"},
                                    {std::string("\x89HDF\r\n\x1a\n"), "an HDF5 file"},
                                    {std::string("\x30\0\0\0ET12\0", 9), "an ExecuTorch program"},
                                    {std::string("\x30\0\0\0ORTM\0", 9), "ONNX Runtime's own format"},
                                    {std::string("\x1c\0\0\0TFL3\0", 9), "a TensorFlow Lite model"}}) {
    const Error error = notReadable("model", detectKind(std::as_bytes(std::span(bytes))), "ONNX");
    EXPECT_NE(error.message.find(name), std::string::npos) << error.message;
    EXPECT_EQ(error.hint.words.find("load it in Python and export it with torch.export.save"), 0U) << error.hint.words;
  }
}

TEST_F(ArchiveTest, OtherProgramsZipsAreNamed) {
  const std::vector<ZipEntry> package = {{"p/.data/extern_modules", "x"}, {"p/model/model.pkl", "x"}};
  auto scripted = package;
  scripted.push_back({"p/.data/ts_code/0/data.pkl", "x"});
  EXPECT_NE(refusal(buildZip(package)).find("a torch.package archive,"), std::string::npos);
  EXPECT_NE(refusal(buildZip(scripted)).find("with TorchScript modules inside"), std::string::npos);
  EXPECT_NE(refusal(buildZip({{"config.json", "{}"}, {"metadata.json", "{}"}})).find("Keras"), std::string::npos);
}

TEST(Sha256Test, KnownAnswer) {
  const std::string_view text = "abc";
  EXPECT_EQ(sha256Hex(std::as_bytes(std::span(text.data(), text.size()))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace normlens::formats::torchscript
