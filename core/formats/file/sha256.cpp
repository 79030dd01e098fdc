#include "core/formats/file/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace normlens::formats {
namespace {

class Sha256 {
 public:
  Sha256()
      : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free),
        good_(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1) {}

  void add(std::span<const std::byte> bytes) {
    good_ = good_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
  }
  // False where the file cannot be read any more, or goOn ended it.
  [[nodiscard]] bool add(const MappedFile& file, const std::function<bool()>& goOn) {
    constexpr size_t kPiece = 1 << 18;
    std::vector<std::byte> buffer(kPiece);
    const size_t size = file.bytes().size();
    for (size_t done = 0; done < size; done += kPiece) {
      const auto piece = std::span(buffer).first(std::min(kPiece, size - done));
      if (goOn && !goOn()) return false;
      if (!file.readAt(done, piece)) return false;
      add(piece);
    }
    return true;
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    if (!good_ || EVP_DigestFinal_ex(context_.get(), digest.data(), &length) != 1) return {};
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (unsigned int i = 0; i < length; ++i) {
      text += kDigits[digest[i] >> 4];
      text += kDigits[digest[i] & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
  bool good_;
};

}  // namespace

std::string sha256Hex(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.add(bytes);
  return sha.hex();
}

std::string sha256Hex(std::span<const std::shared_ptr<const MappedFile>> files, const std::function<bool()>& goOn) {
  Sha256 sha;
  for (const auto& file : files) {
    if (!sha.add(*file, goOn)) return {};
  }
  return sha.hex();
}

std::string sha256Hex(const MappedFile& file, const std::function<bool()>& goOn) {
  Sha256 sha;
  return sha.add(file, goOn) ? sha.hex() : std::string();
}

}  // namespace normlens::formats
