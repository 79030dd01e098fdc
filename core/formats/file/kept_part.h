// A file that is written so that another process can go on with it: behind its bytes stands a record of what they are
// to become, how many are there and their sum. Private to formats/file.
//
// The record is advanced once what it counts is safely on the disk, and has two places that take turns: a crash of the
// machine leaves one of them. Thread: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace normlens::formats {

class KeptPart {
 public:
  // Of a file of `size` bytes that `digest` (64 letters; else nothing is ever gone on with) tells from all others. The
  // descriptor stays the caller's.
  KeptPart(int descriptor, uint64_t size, std::string digest);

  // It was begun by a writer of the same file; else it is another's, damaged, or new.
  [[nodiscard]] bool isOurs() const { return turn_ > 0; }
  // Of its bytes, in the order in which they are written.
  [[nodiscard]] uint64_t written() const { return written_; }
  // Their CRC-32.
  [[nodiscard]] uint32_t sum() const { return sum_; }
  // They are not what was recorded: it is nobody's.
  void disown() { turn_ = 0; }
  // Its length with the record.
  [[nodiscard]] uint64_t end() const;
  // 0 or an errno, as below. To be called of an empty file that is not ours.
  [[nodiscard]] int begin();
  // More of them are; the record follows now and then.
  [[nodiscard]] int wrote(std::span<const std::byte> bytes);
  // The record says what is there.
  [[nodiscard]] int record();

 private:
  [[nodiscard]] int put();

  int descriptor_;
  uint64_t size_;
  std::string digest_;
  uint64_t written_ = 0, recorded_ = 0;
  uint32_t sum_ = 0;
  uint64_t turn_ = 0;
};

}  // namespace normlens::formats
