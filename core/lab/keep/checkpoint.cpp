#include "core/lab/keep/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <span>

#include "core/base/printable.h"
#include "core/formats/file/atomic_file.h"
#include "core/formats/file/crc32.h"
#include "core/formats/file/mapped_file.h"
#include "core/lab/run_files.h"
#include "core/protocol/json.h"

namespace normlens::lab {
namespace {

constexpr std::string_view kMagic = "NLLAB001";

struct Head {
  std::array<char, 8> magic{};
  uint64_t jsonBytes = 0;
  uint32_t crc = 0;
  uint32_t unused = 0;
};
static_assert(sizeof(Head) == 24);

tl::unexpected<Error> refused(const std::filesystem::path& path, const std::string& why) {
  return fail(ErrorCode::Unreadable, printable("the checkpoint " + path.string() + " cannot be used: " + why),
              {"begin the run anew", HintKey::Anew});
}

std::optional<uint64_t> byteCount(const KeptTensor& tensor) {
  uint64_t count = tensor.dtype == "float32" ? 4 : tensor.dtype == "float64" ? 8 : 0;
  for (const int64_t size : tensor.shape) {
    if (size < 0 || (size > 0 && count > (uint64_t{1} << 40) / static_cast<uint64_t>(size))) return std::nullopt;
    count *= static_cast<uint64_t>(size);
  }
  return count;
}

Status takeBytes(const std::filesystem::path& path, std::span<const std::byte> bytes, Checkpoint& checkpoint) {
  for (KeptMember& member : checkpoint.members) {
    for (KeptTensor& tensor : member.tensors) {
      const auto count = byteCount(tensor);
      if (!count || *count > bytes.size()) return refused(path, "it lacks bytes of " + tensor.name);
      tensor.bytes.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*count));
      bytes = bytes.subspan(*count);
    }
  }
  if (!bytes.empty()) return refused(path, "it has bytes that belong to nothing");
  return {};
}

// Checks everything that is trusted later: indices, counts, names of files.
Status checkSound(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const RunSettings& settings = checkpoint.settings;
  if (const Status good = checkRunSettings(settings); !good) return refused(path, good.error().message);
  std::set<std::string> names;
  for (const RunMember& member : membersOf(settings)) names.insert(memberName(member, settings));
  const auto isOf = [&](const RunMember& member) {
    return member.optimizer >= 0 && static_cast<size_t>(member.optimizer) < settings.optimizers.size() &&
           names.contains(memberName(member, settings));
  };
  const auto isEpoch = [&](int epoch) { return epoch >= 0 && epoch <= settings.epochs; };
  const auto isRecord = [&](const RunRecord& record) {
    return isOf(record.member) && isEpoch(record.epoch) && (record.event != RunEvent::Epoch || !record.inputs.empty());
  };
  const auto isMember = [&](const KeptMember& kept) {
    return isOf(kept.member) && isEpoch(kept.epoch) && kept.step >= 0;
  };
  const auto isFile = [&](const std::string& file) {
    return file.ends_with(kNetworkSuffix) && names.contains(file.substr(0, file.rfind('.')));
  };
  const size_t most = names.size() * (static_cast<size_t>(settings.epochs) + 2);
  const bool sound =
      isEpoch(checkpoint.epoch) && checkpoint.group >= 0 && checkpoint.records.size() <= most &&
      std::ranges::all_of(checkpoint.records, isRecord) && std::ranges::all_of(checkpoint.members, isMember) &&
      std::ranges::all_of(checkpoint.costs, isOf, &StepCost::member) && std::ranges::all_of(checkpoint.weights, isFile);
  return sound ? Status() : refused(path, "it names networks or epochs that its run does not have");
}

}  // namespace

Status writeCheckpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const std::string json = protocol::dumpJson(protocol::toJson(checkpoint));
  Head head;
  std::memcpy(head.magic.data(), kMagic.data(), kMagic.size());
  head.jsonBytes = json.size();
  head.crc = formats::crcOf(0, reinterpret_cast<const std::byte*>(json.data()), json.size());
  uint64_t size = sizeof head + json.size();
  for (const KeptMember& member : checkpoint.members) {
    for (const KeptTensor& tensor : member.tensors) {
      head.crc = formats::crcOf(head.crc, tensor.bytes.data(), tensor.bytes.size());
      size += tensor.bytes.size();
    }
  }
  ASSIGN_OR_RETURN(auto file, formats::AtomicFile::create(path, size));
  uint64_t at = 0;
  const auto write = [&](std::span<const std::byte> bytes) {
    Status written = file.writeAt(at, bytes);
    at += bytes.size();
    return written;
  };
  RETURN_IF_ERROR(write(std::as_bytes(std::span(&head, 1))));
  RETURN_IF_ERROR(write(std::as_bytes(std::span(json))));
  for (const KeptMember& member : checkpoint.members) {
    for (const KeptTensor& tensor : member.tensors) {
      RETURN_IF_ERROR(write(tensor.bytes));
    }
  }
  return file.commit();
}

Result<Checkpoint> readCheckpoint(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const auto file, formats::MappedFile::open(path));
  const auto bytes = file->bytes();
  Head head;
  if (bytes.size() < sizeof head) return refused(path, "it is cut off");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::string_view(head.magic.data(), head.magic.size()) != kMagic) return refused(path, "it is none");
  const auto rest = bytes.subspan(sizeof head);
  if (head.jsonBytes > rest.size()) return refused(path, "it is cut off");
  if (formats::crcOf(0, rest.data(), rest.size()) != head.crc) return refused(path, "it is damaged (checksum)");
  const auto json = protocol::parseJson({reinterpret_cast<const char*>(rest.data()), head.jsonBytes});
  auto checkpoint = json.and_then([](const nlohmann::json& in) { return protocol::decode<Checkpoint>(in); });
  if (!checkpoint) return refused(path, checkpoint.error().message);
  RETURN_IF_ERROR(takeBytes(path, rest.subspan(head.jsonBytes), *checkpoint));
  RETURN_IF_ERROR(checkSound(path, *checkpoint));
  return checkpoint;
}

}  // namespace normlens::lab
