// Answers a window on another machine about files of this one: what a folder holds, models that it sends, exports that
// it fetches. The supervisor's: no process that runs a model has a way to it.
//
// Any folder is listed that this user may list, without hidden names. Bytes are written and read only below the cache,
// as CACHE/FOLDER/NAME; FOLDER is hex digits and NAME has no folder, so neither leads elsewhere. What has not all come
// is a hidden file beside, and gets its name when its hash was found right. Thread: one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes/running_hash.h"
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/protocol/file_messages.h"
#include "core/protocol/rpc.h"

namespace normlens::engine {

class ExchangedFiles {
 public:
  using Path = std::filesystem::path;

  // normlens/exchanged below XDG_CACHE_HOME or ~/.cache.
  [[nodiscard]] static Path usualCache();
  explicit ExchangedFiles(Path cache = usualCache()) : cache_(std::move(cache)) {}

  [[nodiscard]] static Result<protocol::FolderList> list(const protocol::ListFolderParams& params);
  [[nodiscard]] Result<protocol::SentSoFar> send(const protocol::SendChunkParams& params);
  [[nodiscard]] Result<protocol::FetchedChunk> fetch(const protocol::FetchChunkParams& params);
  [[nodiscard]] static bool isAbout(std::string_view method);
  // Returns the body of the reply to such a request.
  [[nodiscard]] std::string answer(int64_t id, std::string_view method, const nlohmann::json& params);

 private:
  [[nodiscard]] Result<std::string> hashOf(const Path& path, const Descriptor& file, int64_t bytes);

  Path cache_;
  // A file that is hashed, a part with each request, since others wait for this process meanwhile.
  struct LookedThrough {
    Path path;
    int64_t bytes = 0;
    RunningHash hash;
  };
  std::optional<LookedThrough> looked_;
};

}  // namespace normlens::engine
