// Files that are kept, through a door of this process's own.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/confine/doorkeeper.h"
#include "core/formats/file/atomic_file.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats {

inline constexpr size_t kStroke = size_t{1} << 20;
inline constexpr size_t kPlace = 4096;  // of a record, two of which stand behind the file's bytes
inline const std::string kDigest(64, 'a'), kOtherDigest(64, 'b');

// This process's door, with who keeps it on a thread.
class KeptDoor {
 public:
  explicit KeptDoor(confine::Grants grants) : keeper_(std::move(grants)) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    own_ = Descriptor(ends[0]);
    files::useDoor(Descriptor(ends[1]));
    thread_ = std::thread([this] {
      while (keeper_.serve(own_.get())) {
      }
    });
  }
  ~KeptDoor() {
    files::useDoor(Descriptor());
    thread_.join();
  }
  KeptDoor(const KeptDoor&) = delete;
  KeptDoor& operator=(const KeptDoor&) = delete;

  // While nobody asks.
  std::string told() {
    std::string all;
    for (const auto& line : keeper_.takeTold()) all += line + "\n";
    return all;
  }

 private:
  confine::Doorkeeper keeper_;
  Descriptor own_;
  std::thread thread_;
};

inline std::string contentOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void overwrite(const std::filesystem::path& path, size_t at, const std::string& text) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at));
  file << text;
}

class KeptFile : public testing::Test {
 protected:
  KeptFile() {
    std::mt19937 random(7);
    for (char& c : text_) c = static_cast<char>(random());
    openDoor(true);
  }
  void openDoor(bool keeps) {
    confine::Grants grants;
    grants.toWrite(out());
    if (keeps) grants.toKeepParts();
    door_.reset();
    door_.emplace(std::move(grants));
  }
  [[nodiscard]] std::filesystem::path out() const { return folder_ / "out.onnx"; }
  [[nodiscard]] std::filesystem::path part() const { return folder_ / "out.onnx.normlens-part"; }

  // A piece that is made, one that is made and seen, one in memory, with bytes between them that nobody writes.
  // `limit`: making fails there, in bytes of the text.
  [[nodiscard]] std::vector<FilePiece> pieces(size_t limit) {
    std::vector<FilePiece> all;
    for (const auto& [from, end] : {std::pair{size_t{0}, kSeen}, std::pair{kSeen, kInMemory}}) {
      all.push_back({from + (from > 0 ? kGap : 0),
                     std::as_bytes(std::span(text_)).subspan(from, end - from),
                     [this, from, limit](uint64_t at, std::span<std::byte> to) -> Status {
                       if (from + at >= limit) return fail(ErrorCode::Refused, "no mean");
                       if (before_) before_();
                       made_ += to.size();
                       std::memcpy(to.data(), text_.data() + from + at, to.size());
                       return {};
                     },
                     {}});
    }
    all[1].see = [this](std::span<const std::byte> bytes) {
      seen_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    all.push_back({kInMemory + kGap, std::as_bytes(std::span(text_)).subspan(kInMemory), {}, {}});
    return all;
  }
  Status write(size_t limit = kWhole, const std::string& digest = kDigest, const Task& task = {}) {
    made_ = 0;
    seen_.clear();
    auto file = AtomicFile::takeUp(out(), kSize);
    if (!file) return tl::unexpected(file.error());
    if (auto status = file->writeAll(pieces(limit), task, [&] { return digest; }); !status) return status;
    return file->commit();
  }
  void expectWhole() {
    EXPECT_TRUE(contentOf(out()) == text_.substr(0, kSeen) + std::string(kGap, '\0') + text_.substr(kSeen));
    EXPECT_TRUE(seen_ == text_.substr(kSeen, kInMemory - kSeen));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), std::filesystem::directory_iterator()),
              1);
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(std::filesystem::status(out()).permissions(), std::filesystem::perms(0666U & ~mask));  // as any new file
  }
  void expectAnew() {
    const Status status = write();
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(made_, kInMemory);
    expectWhole();
  }
  std::string refusal() {
    const Status status = write();
    return status ? std::string() : status.error().message;
  }

  static constexpr size_t kSeen = 3 * kStroke + 4321, kInMemory = 6 * kStroke + 77, kWhole = 7 * kStroke;
  static constexpr size_t kGap = 100, kSize = kWhole + kGap;
  static constexpr size_t kRecords = (kSize + kPlace - 1) / kPlace * kPlace;

  TemporaryFolder folder_;
  std::string text_ = std::string(kWhole, '\0');
  std::string seen_;
  size_t made_ = 0;
  std::function<void()> before_;
  std::optional<KeptDoor> door_;
};

}  // namespace normlens::formats
