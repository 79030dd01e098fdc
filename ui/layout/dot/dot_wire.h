// Graphs and drawings as bytes, between the window and normlens-layout: two builds of the same sources.
//
// A frame is its length in four bytes, in this machine's order, and its content. Thread: any.
#pragma once

#include <QByteArray>
#include <cstdint>
#include <optional>

#include "ui/layout/dot/dot_graph.h"

namespace normlens::layout {

inline constexpr uint32_t kMaxFrame = 64U << 20;  // longer ones are taken for noise

[[nodiscard]] QByteArray framed(const DotGraph& graph);
[[nodiscard]] QByteArray framed(const DotDrawing& drawing);
// A frame without content: "ready", and as an answer "no drawing".
[[nodiscard]] QByteArray emptyFrame();

// These read a frame's content; nullopt when it is none.
[[nodiscard]] std::optional<DotGraph> graphFrom(const QByteArray& content);
[[nodiscard]] std::optional<DotDrawing> drawingFrom(const QByteArray& content);

}  // namespace normlens::layout
