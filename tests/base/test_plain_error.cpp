#include "core/base/plain_error.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "core/base/printable.h"

namespace normlens {
namespace {

std::string saidOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::exception& error) {
    return plainError(error);
  }
  return "nothing";
}

TEST(PlainError, WantOfMemoryIsSaidInWords) {
  EXPECT_EQ(saidOf([] { throw std::bad_alloc(); }), "there is not enough memory");
  EXPECT_EQ(saidOf([] { throw std::bad_array_new_length(); }), "there is not enough memory");
  EXPECT_EQ(saidOf([] { std::vector<int>().resize(~size_t{0}); }), "there is not enough memory");
  // What std::thread throws where there is no room for its stack.
  EXPECT_EQ(saidOf([] { throw std::system_error(EAGAIN, std::generic_category()); }), "there is not enough memory");
}

TEST(PlainError, WhatJsonSaysHasNoTag) {
  EXPECT_EQ(saidOf([] { static_cast<void>(nlohmann::json::object().at("a")); }), "key 'a' not found");
}

TEST(PlainError, AHintFollowsAMessageWithoutItsFullStop) {
  EXPECT_EQ(withHint({ErrorCode::Unsupported, "no op normlens::crms_norm.", "load the library"}),
            "no op normlens::crms_norm; load the library");
  EXPECT_EQ(withHint({ErrorCode::Unsupported, "It ends here.", {}}), "It ends here.");
}

TEST(PlainError, OtherSentencesStayAsTheyAre) {
  EXPECT_EQ(saidOf([] { throw std::runtime_error("the disk is full"); }), "the disk is full");
}

TEST(Printable, ControlCharactersOfAStrangersTextAreMarked) {
  EXPECT_EQ(printable("a\x1b[31m\x7f\tb"), "a?[31m??b");
  EXPECT_EQ(printable("a\nb\r", "\n"), "a\nb?");
  EXPECT_EQ(printable("\xC2\x9B"
                      "1m"),
            "??1m");  // U+009B begins what ESC [ begins
  EXPECT_EQ(printable("gr\xC3\xB6\xC3\x9F"
                      "e \xC2\xA0"),
            "gr\xC3\xB6\xC3\x9F"
            "e \xC2\xA0");
}

TEST(Printable, ACharacterOfSeveralBytesIsNotCut) {
  const std::string text = "a\xE2\x82\xACz";  // a euro sign of three bytes
  for (const auto& [at, start] : {std::pair{0, 0}, {1, 1}, {2, 1}, {3, 1}, {4, 4}, {5, 5}})
    EXPECT_EQ(characterStart(text, static_cast<size_t>(at)), static_cast<size_t>(start)) << at;
}

TEST(Printable, WhatTurnsTheDirectionOfALineIsMarked) {
  // NOLINTNEXTLINE(misc-misleading-bidirectional)
  for (const char* const control : {"\u200E", "\u200F", "\u2028", "\u2029", "\u202A", "\u202E", "\u2066", "\u2069"}) {
    EXPECT_EQ(printable(std::string("model") + control + "tp.exe"), "model???tp.exe") << control;
  }
  EXPECT_EQ(printable("\u061C"), "??");
  const std::string harmless = "\u200B\u200D\u2010\u2027\u202F\u2065\u206A \u05D0 \u0627";
  EXPECT_EQ(printable(harmless), harmless);
  EXPECT_EQ(printable("\xE2\x80"), "\xE2\x80");
}

TEST(PlainError, WantOfMemoryNamesTheLimitOfTheProcess) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const Error wanted{ErrorCode::RunFailed, "the model cannot be run: there is not enough memory", {}};
  const Error other{ErrorCode::RunFailed, "the sizes differ", "check them"};
  const rlimit limit{rlim_t{64} << 30, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
  EXPECT_EQ(withMemoryLimit(wanted).hint.text(),
            "no more than 65536 MB may be taken, allow more with --memory-limit SIZE");
  EXPECT_EQ(withMemoryLimit(wanted).message, wanted.message);
  EXPECT_EQ(withMemoryLimit(other).hint.text(), "check them");
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  if (before.rlim_cur == RLIM_INFINITY) {
    EXPECT_EQ(withMemoryLimit(wanted).hint.text(), "");
  }
}

}  // namespace
}  // namespace normlens
