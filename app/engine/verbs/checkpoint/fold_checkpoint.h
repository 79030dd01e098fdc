// fold --weights-of HF_DIR --weights-out DIR: the fold's edits in a copy of a checkpoint. Thread: one.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/console.h"
#include "app/engine/verbs/output_path.h"
#include "core/confine/grants.h"
#include "core/protocol/checkpoint_messages.h"
#include "core/service/plans/checkpoint_export.h"

namespace normlens::engine {

struct CheckpointOptions {
  std::string folder, out;  // both, or none

  // output: the option that may be left out where a checkpoint is written.
  void addTo(CLI::App& app, CLI::Option* output);
  // By the process that names the files, for the worker as well: what is in the folders.
  void list();
  void grant(confine::Grants& grants) const;
  // Errors: Usage where DIR is HF_DIR or lies in it, or nothing would be written; those of list().
  [[nodiscard]] Status check(const Files& model) const;
  // nullopt: no checkpoint is asked for. Errors: those of Service::checkpointExport().
  [[nodiscard]] Result<std::optional<service::CheckpointExport>> prepare(const service::Service& service) const;

 private:
  Result<std::vector<std::string>> files_;
  bool holdsSomething_ = false;  // the folder of the copy: a confined process cannot list it
};

void printCheckpoint(const protocol::CheckpointResult& checkpoint, Console& console);

}  // namespace normlens::engine
