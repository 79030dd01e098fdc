#include "core/formats/file/file_hash.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/base/bytes/hex.h"
#include "core/base/bytes/running_hash.h"

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
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    if (!good_ || EVP_DigestFinal_ex(context_.get(), digest.data(), &length) != 1) return {};
    return hexOf(std::span(digest).first(length));
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
  bool good_;
};

// Returns false where the file cannot be read any more, or goOn ended it.
template <class Hash>
bool addFile(Hash& hash, const MappedFile& file, const std::function<bool()>& goOn) {
  constexpr size_t kPiece = 1 << 18;
  std::vector<std::byte> buffer(kPiece);
  const size_t size = file.bytes().size();
  for (size_t done = 0; done < size; done += kPiece) {
    const auto piece = std::span(buffer).first(std::min(kPiece, size - done));
    if (goOn && !goOn()) return false;
    if (!file.readAt(done, piece)) return false;
    hash.add(piece);
  }
  return true;
}

template <class Hash, class Files>
std::string hexOfFiles(const Files& files, const std::function<bool()>& goOn) {
  Hash hash;
  return std::ranges::all_of(files, [&](const auto& file) { return addFile(hash, *file, goOn); }) ? hash.hex() : "";
}

}  // namespace

std::string sha256Hex(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.add(bytes);
  return sha.hex();
}

std::string hashHex(HashKind kind, std::span<const std::shared_ptr<const MappedFile>> files,
                    const std::function<bool()>& goOn) {
  return kind == HashKind::Xxh3 ? hexOfFiles<RunningHash>(files, goOn) : hexOfFiles<Sha256>(files, goOn);
}

std::string hashHex(HashKind kind, const MappedFile& file, const std::function<bool()>& goOn) {
  const std::array files{&file};
  return kind == HashKind::Xxh3 ? hexOfFiles<RunningHash>(files, goOn) : hexOfFiles<Sha256>(files, goOn);
}

}  // namespace normlens::formats
