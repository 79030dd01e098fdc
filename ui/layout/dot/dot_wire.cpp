#include "ui/layout/dot/dot_wire.h"

#include <cstring>
#include <type_traits>

namespace normlens::layout {
namespace {

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <class T>
  void putAll(const std::vector<T>& values) {
    put(static_cast<uint32_t>(values.size()));
    for (const T& value : values) put(value);
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
  void get(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    sound_ = sound_ && bytes_.size() - at_ >= static_cast<qsizetype>(sizeof(value));
    if (!sound_) return;
    std::memcpy(&value, bytes_.constData() + at_, sizeof(value));
    at_ += static_cast<qsizetype>(sizeof(value));
  }
  // A number of things that take at least a byte each.
  size_t count() {
    uint32_t count = 0;
    get(count);
    sound_ = sound_ && count <= bytes_.size() - at_;
    return sound_ ? count : 0;
  }
  template <class T>
  void getAll(std::vector<T>& values) {
    values.resize(count());
    for (T& value : values) get(value);
  }
  [[nodiscard]] bool complete() const { return sound_ && at_ == bytes_.size(); }

 private:
  const QByteArray& bytes_;
  qsizetype at_ = 0;
  bool sound_ = true;
};

}  // namespace

QByteArray framed(const DotGraph& graph) {
  Writer writer;
  writer.put(static_cast<uint32_t>(graph.boxes.size()));
  for (const DotBox& box : graph.boxes) {
    for (const double size : {box.width, box.height}) writer.put(size);
    for (const bool flag : {box.circle, box.stream, box.group}) writer.put(flag);
    writer.putAll(box.topPorts);
    writer.putAll(box.bottomPorts);
  }
  writer.putAll(graph.edges);
  writer.putAll(graph.sources);
  writer.putAll(graph.sinks);
  writer.put(graph.nodeGap);
  writer.put(graph.rankGap);
  return writer.framed();
}

QByteArray framed(const DotDrawing& drawing) {
  Writer writer;
  writer.putAll(drawing.boxes);
  writer.put(static_cast<uint32_t>(drawing.curves.size()));
  for (const auto& curve : drawing.curves) writer.putAll(curve);
  writer.put(drawing.bounds);
  return writer.framed();
}

QByteArray emptyFrame() { return Writer().framed(); }

std::optional<DotGraph> graphFrom(const QByteArray& content) {
  Reader reader(content);
  DotGraph graph;
  graph.boxes.resize(reader.count());
  for (DotBox& box : graph.boxes) {
    for (double* size : {&box.width, &box.height}) reader.get(*size);
    for (bool* flag : {&box.circle, &box.stream, &box.group}) reader.get(*flag);
    reader.getAll(box.topPorts);
    reader.getAll(box.bottomPorts);
  }
  reader.getAll(graph.edges);
  reader.getAll(graph.sources);
  reader.getAll(graph.sinks);
  reader.get(graph.nodeGap);
  reader.get(graph.rankGap);
  return reader.complete() ? std::optional(std::move(graph)) : std::nullopt;
}

std::optional<DotDrawing> drawingFrom(const QByteArray& content) {
  Reader reader(content);
  DotDrawing drawing;
  reader.getAll(drawing.boxes);
  drawing.curves.resize(reader.count());
  for (auto& curve : drawing.curves) reader.getAll(curve);
  reader.get(drawing.bounds);
  return reader.complete() ? std::optional(std::move(drawing)) : std::nullopt;
}

}  // namespace normlens::layout
