// Which values of a program may share memory. Private to formats/torchscript: includes torch.
//
// Found from the ops' schemas (alias annotations), plus a list of ops that may return their input without saying so.
// A container shares with what is put in and with what is taken out, but two things put into one container do not
// share with each other. It errs on the side of sharing.
#pragma once

#include <vector>

#include "core/formats/torchscript/program.h"

namespace normlens::formats::torchscript {

class MemorySharing {
 public:
  explicit MemorySharing(const Program& program);

  // All values that may share memory with this one, itself included, ascending.
  [[nodiscard]] std::vector<int> sharingWith(int value) const;

 private:
  enum class Edge : uint8_t { Same, PutInto, TakenFrom };  // TakenFrom: this value came out of that container
  struct Link {
    int to;
    Edge edge;
    bool forward;  // the edge is read in its own direction
  };

  void connect(int from, int to, Edge edge);
  void addNode(const ProgramNode& node);
  void addBlocks(const ProgramNode& node);
  void addBySchema(const ProgramNode& node, const c10::FunctionSchema& schema);
  void addUnknown(const ProgramNode& node);
  void addFlow(int input, const c10::TypePtr& inputType, int output, const c10::TypePtr& outputType);
  void addTiedConstants();
  [[nodiscard]] bool holdsMemory(int value, const c10::TypePtr& type) const;

  const Program& program_;
  std::vector<std::vector<Link>> links_;
};

}  // namespace normlens::formats::torchscript
