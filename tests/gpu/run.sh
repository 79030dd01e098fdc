#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: builds the norm kernels without Qt, onnx or anything from a package manager, tests them
# on the GPU, measures them, looks for memory errors, and writes one JSON file, also of a run that is cut short.
#   tests/gpu/run.sh [FILE]      FILE is gpu.json unless given
# Needs torch 2.11 or newer for the python3 that PYTHON names (python3 unless set), nvcc, cmake 3.25 and ninja.
# compute-sanitizer is used where it is found. BUILD names the build folder (build/gpu unless set). What the steps print
# goes to FILE.log as well, and the end of what a step that did not pass printed into FILE.
# Exits 1 if a test fails or nothing was measured, 2 if something needed is missing, 130 if interrupted. Goals that are
# missed are listed and fail nothing. Every step has a limit, and SECONDS_AT_MOST (570 unless set) is that of all of them
# together: what would begin later is left out, which fails the run.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
result=$(readlink -m "${1:-gpu.json}")
log=$result.log
at_most=${SECONDS_AT_MOST:-570}
python=${PYTHON:-python3}
build=${BUILD:-$root/build/gpu}
library=$build/lib/libnormlens_ops.so

say() { printf '%s\n' "gpu: $*" >&2; }
missing() { say "$*"; exit 2; }

nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
[[ -x $nvcc ]] || missing "nvcc was not found: install the CUDA toolkit or set CUDA_HOME"
for program in cmake ninja "$python"; do
  command -v "$program" >/dev/null || missing "$program was not found"
done
torch=$("$python" -c 'import torch; print(torch.__path__[0])' 2>/dev/null) || missing "$python has no torch"
architecture=$("$python" -c 'import torch; print("%d%d" % torch.cuda.get_device_capability())' 2>/dev/null) ||
  missing "torch sees no GPU on this machine: nothing was built, tested or measured"

mkdir -p "$build" "$(dirname "$result")"
rm -f "$build/kernels.json"
: >"$log"
steps=()
status=0
running= # the step's process
# shellcheck disable=SC2317  # called by a trap
report() {
  local ended=$?
  trap - EXIT
  "$python" "$root/tests/gpu/report.py" "$result" "$build/kernels.json" "$log" "${steps[@]}" ||
    { say "nothing was measured"; exit $((ended > 1 ? ended : 1)); }
  say "written: $result"
  exit "$((ended > status ? ended : status))"
}
# shellcheck disable=SC2317  # called by a trap
interrupted() {
  [[ ! $running ]] || kill "$running" 2>/dev/null || true
  steps+=("${name:-start}=interrupted")
  exit 130
}
trap report EXIT
trap interrupted INT TERM

# step <name> <seconds at most> <command>: in the background, because a shell heeds no signal while it runs a command.
step() {
  local limit=$2 left=$((at_most - SECONDS)) outcome=passed code=0
  name=$1
  shift 2
  ((limit < left)) || limit=$left
  if ((limit < 5)); then
    steps+=("$name=left out: no time was left")
    status=1
    return
  fi
  local since=$SECONDS
  { echo "== $name"; PYTHONUNBUFFERED=1 exec timeout -k 10 "$limit" "$@"; } > >(exec tee -a "$log") 2>&1 &
  running=$!
  wait "$running" || code=$?
  running=
  ((code == 0)) || { outcome="failed with $code"; status=1; }
  ((code == 0 || SECONDS - since < limit)) || outcome="ran past $limit s"
  steps+=("$name=$outcome")
}

# Compilers that we do not know may warn of more.
configure() {
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNORMLENS_ENGINE=OFF -DNORMLENS_CUDA=ON \
    -DNORMLENS_WERROR=OFF -DNORMLENS_CUDA_ARCHITECTURES="$architecture" -DCMAKE_CUDA_COMPILER="$nvcc" \
    -DTorch_DIR="$torch/share/cmake/Torch" >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 1; }
}
say "building for compute capability $architecture into $build"
configure
step build 240 cmake --build "$build"
[[ $status == 0 ]] || exit 1

step "ops on the GPU" 120 "$python" "$root/tests/kernels/test_ops.py" "$library" cuda
step "grid against float64" 120 "$python" "$root/tests/gpu/test_grid.py" "$library"
step measurement 240 "$build/bin/normlens-bench" - - "$library" --json "$build/kernels.json" kernels-gpu
step "ops on the CPU" 90 "$python" "$root/tests/kernels/test_ops.py" "$library"

# Our kernels only: torch's calls into the driver fail on purpose now and then, and its allocator hides small overruns.
sanitizer=$(command -v compute-sanitizer || echo "$(dirname "$nvcc")/compute-sanitizer")
for tool in memcheck racecheck; do
  if [[ -x $sanitizer ]]; then
    step "compute-sanitizer $tool" 150 env PYTORCH_NO_CUDA_MEMORY_CACHING=1 "$sanitizer" --tool "$tool" \
      --report-api-errors no --kernel-name kns=normlens --error-exitcode 1 \
      "$python" "$root/tests/gpu/test_grid.py" "$library" --small
  else
    steps+=("compute-sanitizer $tool=not found")
  fi
done
