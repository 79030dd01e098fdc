// The laboratory: a run that is trained, what it reports while it goes, and the notifications to it. As messages.h in
// every other respect.
#pragma once

#include <cstdint>
#include <string>

#include "core/protocol/field_list.h"
#include "core/protocol/run_record.h"
#include "core/protocol/run_settings.h"

namespace normlens::protocol {

// ---- lab: LabParams -> lab::RunResult. Trains; "$/lab" reports each record as it comes. Where the folder has the
// checkpoint of this very run it goes on from there.
struct LabParams {
  std::string name;    // Names the run.
  std::string folder;  // is there; empty: nothing is kept
  lab::RunSettings settings;
};
NORMLENS_FIELDS(LabParams, name, folder, settings)

// ---- notification "$/lab", engine -> window
struct LabUpdate {
  int64_t id = 0;  // the request it belongs to
  lab::RunRecord record;
};
NORMLENS_FIELDS(LabUpdate, id, record)

// ---- notification "$/labControl", window -> engine: of the run that goes on. Stopped, the run is answered with what
// was trained; cancelled, it may not have been written yet.
struct LabControl {
  lab::RunWish what = lab::RunWish::Stop;
};
NORMLENS_FIELDS(LabControl, what)

}  // namespace normlens::protocol
