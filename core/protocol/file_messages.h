// Messages about files on the engine's machine, for a window on another: folders to choose from, a model that is sent
// there, an export that is fetched. As messages.h in every other respect.
//
// Bytes go in base64, in chunks of at most kMostChunk. What is sent and fetched lies below the engine's own cache
// folder, and nothing else is read or written by these. Hashes are XXH3-128, 32 hex digits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/protocol/field_list.h"

namespace normlens::protocol {

inline constexpr int64_t kMostChunk = int64_t{4} << 20;

// ---- list_folder: ListFolderParams -> FolderList. Folders and regular files, none of them hidden.
struct ListFolderParams {
  std::string path;  // absolute; of a file: that alone is listed, if it is there; empty: the user's home
};
NORMLENS_FIELDS(ListFolderParams, path)

struct FolderEntry {
  std::string name;
  bool folder = false;
  int64_t bytes = 0, modified = 0;  // of a file; modified: nanoseconds since 1970
};
NORMLENS_FIELDS(FolderEntry, name, folder, bytes, modified)

struct FolderList {
  std::string path;  // of the folder
  std::vector<FolderEntry> entries;
  bool more = false;  // There are so many that some were left out.
};
NORMLENS_FIELDS(FolderList, path, entries, more)

// ---- send_chunk: SendChunkParams -> SentSoFar. Without data it asks how much is there: a transfer that was cut goes
// on from that. Of a file without bytes it makes the folder and names the place, for an export that will be fetched.
struct SendChunkParams {
  std::string folder;  // 32 hex digits: those of a model and its data files are the same
  std::string name;    // without a folder
  std::string hash;    // of the whole file
  int64_t bytes = 0;   // of the whole file
  int64_t offset = 0;
  std::string data;
};
NORMLENS_FIELDS(SendChunkParams, folder, name, hash, bytes, offset, data)

struct SentSoFar {
  std::string path;       // where the file is once it is complete
  int64_t bytes = 0;      // that are there
  bool complete = false;  // ... and have the hash. All there and not complete: ask again, a part was looked through
};
NORMLENS_FIELDS(SentSoFar, path, bytes, complete)

// ---- fetch_chunk: FetchChunkParams -> FetchedChunk.
struct FetchChunkParams {
  std::string path;
  int64_t offset = 0;
  int64_t most = kMostChunk;  // bytes
  bool remove = false;        // the file is not needed there any more
};
NORMLENS_FIELDS(FetchChunkParams, path, offset, most, remove)

struct FetchedChunk {
  int64_t bytes = 0;  // of the whole file
  std::string data;
  std::string hash;  // of the whole file, to who asks from its end; empty: ask again, a part was looked through
};
NORMLENS_FIELDS(FetchedChunk, bytes, data, hash)

}  // namespace normlens::protocol
