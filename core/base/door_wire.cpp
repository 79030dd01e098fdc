#include "core/base/door_wire.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <span>

namespace normlens::door {
namespace {

struct QuestionHead {
  Ask ask;
  int64_t ticket;
};
struct AnswerHead {
  int32_t error;
  int64_t ticket;
};

struct alignas(cmsghdr) Control {
  std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

bool sendParts(int socket, std::span<iovec> parts, int handed, int how) {
  Control control;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (handed >= 0) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &handed, sizeof handed);
  }
  ssize_t sent = 0;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | how);
  while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

// Bytes that came; -1: none will. handed: null: no descriptor is taken, whatever is sent.
ssize_t receive(int socket, std::span<iovec> parts, Descriptor* handed) {
  Control control;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (handed != nullptr) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
  }
  ssize_t got = 0;
  do got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); got > 0 && header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    handed->reset(fd);
  }
  return (message.msg_flags & MSG_TRUNC) != 0 ? -1 : got;
}

iovec part(void* data, size_t size) { return {.iov_base = data, .iov_len = size}; }

}  // namespace

bool send(int socket, const Question& question) {
  QuestionHead head{question.ask, question.ticket};
  std::array parts{part(&head, sizeof head), part(const_cast<char*>(question.path.data()), question.path.size())};
  return question.path.size() <= PATH_MAX && sendParts(socket, parts, -1, 0);
}

bool send(int socket, const Answer& answer) {
  AnswerHead head{answer.error, answer.ticket};
  std::array parts{part(&head, sizeof head)};
  // The asker reads the answer before it sends again: there is always room for it, unless the asker means harm.
  return sendParts(socket, parts, answer.handed.get(), MSG_DONTWAIT);
}

std::optional<Question> receiveQuestion(int socket) {
  QuestionHead head{};
  std::string path(PATH_MAX, '\0');
  std::array parts{part(&head, sizeof head), part(path.data(), path.size())};
  const ssize_t got = receive(socket, parts, nullptr);
  if (got < static_cast<ssize_t>(sizeof head) || head.ask > Ask::Remove) return std::nullopt;
  path.resize(static_cast<size_t>(got) - sizeof head);
  if (path.find('\0') != std::string::npos) return std::nullopt;
  return Question{head.ask, head.ticket, std::move(path)};
}

std::optional<Answer> receiveAnswer(int socket) {
  AnswerHead head{};
  std::array parts{part(&head, sizeof head)};
  Answer answer;
  if (receive(socket, parts, &answer.handed) != static_cast<ssize_t>(sizeof head)) return std::nullopt;
  answer.error = head.error;
  answer.ticket = head.ticket;
  return answer;
}

}  // namespace normlens::door
