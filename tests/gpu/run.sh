#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: builds the norm kernels without Qt, onnx or anything from a package manager, tests them
# on the GPU, looks for memory errors, measures them, and writes one JSON file.
#   tests/gpu/run.sh [FILE]      FILE is gpu.json unless given
# Needs torch 2.11 or newer for the python3 that PYTHON names (python3 unless set), nvcc, cmake 3.25 and ninja.
# compute-sanitizer is used where it is found. BUILD names the build folder (build/gpu unless set).
# Exits 1 if a test fails, 2 if something needed is missing. Goals that are missed are listed and fail nothing.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
result=$(readlink -f "${1:-gpu.json}")
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
"$python" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' ||
  missing "torch sees no GPU on this machine: nothing was built, tested or measured"

say "building into $build"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNORMLENS_ENGINE=OFF -DNORMLENS_CUDA=ON \
  -DCMAKE_CUDA_COMPILER="$nvcc" -DTorch_DIR="$torch/share/cmake/Torch" >"$build.configure.log" 2>&1 ||
  { cat "$build.configure.log" >&2; exit 1; }
cmake --build "$build"

status=0
step() {
  local name=$1
  shift
  say "$name"
  if "$@"; then
    steps+=("$name=passed")
  else
    steps+=("$name=failed")
    status=1
  fi
}

steps=()
step "ops on the CPU" "$python" "$root/tests/kernels/test_ops.py" "$library"
step "ops on the GPU" "$python" "$root/tests/kernels/test_ops.py" "$library" cuda
step "grid against float64" "$python" "$root/tests/gpu/test_grid.py" "$library"
sanitizer=$(command -v compute-sanitizer || echo "$(dirname "$nvcc")/compute-sanitizer")
for tool in memcheck racecheck; do
  if [[ -x $sanitizer ]]; then
    step "compute-sanitizer $tool" "$sanitizer" --tool "$tool" --error-exitcode 1 \
      "$python" "$root/tests/gpu/test_grid.py" "$library" --small
  else
    steps+=("compute-sanitizer $tool=not found")
  fi
done

say "measuring"
"$build/bin/normlens-bench" - - "$library" --json "$build/kernels.json" kernels
"$python" "$root/tests/gpu/report.py" "$result" "$build/kernels.json" "${steps[@]}"
say "written: $result"
exit "$status"
