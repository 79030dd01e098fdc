// Bytes as text and back.
#include <gtest/gtest.h>

#include "core/base/bytes/base64.h"

namespace normlens {
namespace {

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd\xfc"), "//79/A==");
}

TEST(Base64, IsReadBack) {
  std::string bytes;
  for (int i = 0; i < 700; ++i) {
    EXPECT_EQ(bytesOfBase64(base64(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
}

TEST(Base64, NothingElseIsRead) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg===", "====", "=Zg=", "Zh==", "Zm9=", "Zm9v\n", "Zm 9", "Zm9-", "Z\xff=="})
    EXPECT_EQ(bytesOfBase64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace normlens
