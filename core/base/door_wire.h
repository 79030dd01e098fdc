// Messages through the door between a confined process and the one that started it: one packet for the question, one
// for the answer, a descriptor with it where one is handed over. Thread: one at a time for each end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/descriptor.h"

namespace normlens::door {

enum class Ask : uint8_t {
  Read,      // path -> a descriptor to read from
  Folder,    // path -> a descriptor to list, with the folder's lock
  Create,    // path -> a descriptor to write to, and a ticket
  NameOver,  // ticket: the file gets its name, an older one of that name is removed
  NameNew,   // ticket: the same where nothing has that name
  Drop,      // ticket
  Remove,    // path
};

struct Question {
  Ask ask = Ask::Read;
  int64_t ticket = 0;
  std::string path{};
};

struct Answer {
  int error = 0;  // an errno
  int64_t ticket = 0;
  Descriptor handed;
};

// False: the other end is gone.
[[nodiscard]] bool send(int socket, const Question& question);
[[nodiscard]] bool send(int socket, const Answer& answer);
// nullopt: the other end is gone or sends what is not a message.
[[nodiscard]] std::optional<Question> receiveQuestion(int socket);
[[nodiscard]] std::optional<Answer> receiveAnswer(int socket);

}  // namespace normlens::door
