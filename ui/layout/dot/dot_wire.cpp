#include "ui/layout/dot/dot_wire.h"

#include <cstring>
#include <type_traits>

namespace normlens::layout {
namespace {

// Writer and Reader have the same calls: each message lists its fields once, in fields().
class Writer {
 public:
  template <class T>
  void one(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <class T>
  void size(const std::vector<T>& values) {
    one(static_cast<uint32_t>(values.size()));
  }
  QByteArray framed() {
    const auto length = static_cast<uint32_t>(bytes_.size());
    return QByteArray(reinterpret_cast<const char*>(&length), sizeof(length)) + bytes_;
  }

 private:
  QByteArray bytes_;
};

class Reader {
 public:
  explicit Reader(const QByteArray& bytes) : bytes_(bytes) {}

  template <class T>
  void one(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    sound_ = sound_ && bytes_.size() - at_ >= static_cast<qsizetype>(sizeof(value));
    if (!sound_) return;
    std::memcpy(&value, bytes_.constData() + at_, sizeof(value));
    at_ += static_cast<qsizetype>(sizeof(value));
  }
  // Each element takes at least a byte: a count of more than are left is noise, and no memory is taken for it.
  template <class T>
  void size(std::vector<T>& values) {
    uint32_t count = 0;
    one(count);
    sound_ = sound_ && count <= bytes_.size() - at_;
    values.resize(sound_ ? count : 0);
  }
  [[nodiscard]] bool complete() const { return sound_ && at_ == bytes_.size(); }

 private:
  const QByteArray& bytes_;
  qsizetype at_ = 0;
  bool sound_ = true;
};

template <class Wire>
void all(Wire& wire, auto& values) {
  wire.size(values);
  for (auto& value : values) wire.one(value);
}

// `message` is constant where it is written.
template <class Wire, class Message>
void fields(Wire& wire, Message& message) {
  if constexpr (std::is_same_v<std::remove_const_t<Message>, DotGraph>) {
    wire.size(message.boxes);
    for (auto& box : message.boxes) {
      for (auto* size : {&box.width, &box.height}) wire.one(*size);
      for (auto* flag : {&box.circle, &box.stream, &box.group}) wire.one(*flag);
      all(wire, box.topPorts);
      all(wire, box.bottomPorts);
    }
    all(wire, message.edges);
    all(wire, message.sources);
    all(wire, message.sinks);
    wire.one(message.nodeGap);
    wire.one(message.rankGap);
  } else {
    all(wire, message.boxes);
    wire.size(message.curves);
    for (auto& curve : message.curves) all(wire, curve);
    wire.one(message.bounds);
  }
}

template <class Message>
QByteArray written(const Message& message) {
  Writer writer;
  fields(writer, message);
  return writer.framed();
}

template <class Message>
std::optional<Message> read(const QByteArray& content) {
  Reader reader(content);
  Message message;
  fields(reader, message);
  return reader.complete() ? std::optional(std::move(message)) : std::nullopt;
}

}  // namespace

QByteArray framed(const DotGraph& graph) { return written(graph); }
QByteArray framed(const DotDrawing& drawing) { return written(drawing); }
QByteArray emptyFrame() { return Writer().framed(); }
std::optional<DotGraph> graphFrom(const QByteArray& content) { return read<DotGraph>(content); }
std::optional<DotDrawing> drawingFrom(const QByteArray& content) { return read<DotDrawing>(content); }

}  // namespace normlens::layout
