#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: tests and measures what runs on it, without Qt, onnx or anything from a package
# manager, and writes one JSON file, also of a run that is cut short.
#   tests/gpu/run.sh [PART] [FILE]      FILE is gpu.json unless given
#     kernels   (unless named) the norm kernels: are they right, how fast are they, are they sound
#     engine    the engine on CUDA: models, their folds, CUDA graphs, a capture that fails
#     tuning    what LaunchTuning chooses among, at the sizes that each choice is about
# Needs torch 2.11 or newer for the python3 that PYTHON names (python3 unless set). PREBUILT (build/gpu-prebuilt unless
# set) is what tests/gpu/prebuild made, and is used where its libraries load here; else the kernels are built into BUILD
# (build/gpu unless set), for which nvcc, cmake 3.25 and ninja are needed. `engine` needs PREBUILT. compute-sanitizer is
# used where it is found.
# What the steps print goes to FILE.log, the machine's facts to FILE.env, each measurement to FILE.parts as well; what
# matters stands in the last lines that are printed.
# Exits 1 if a test fails or nothing was measured, 2 if something needed is missing, 130 if interrupted. Goals that are
# missed are listed and fail nothing. Every step has a limit, and SECONDS_AT_MOST (570 unless set) is that of all of them
# together: what would begin later is left out, which fails the run.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
part=kernels
case ${1:-} in kernels | engine | tuning)
  part=$1
  shift
  ;;
esac
result=$(readlink -m "${1:-gpu.json}")
log=$result.log
parts=$result.parts
at_most=${SECONDS_AT_MOST:-570}
python=${PYTHON:-python3}
build=${BUILD:-$root/build/gpu}
prebuilt=${PREBUILT:-$root/build/gpu-prebuilt}

say() { printf '%s\n' "gpu: $*" >&2; }
missing() { say "$*"; exit 2; }

command -v "$python" >/dev/null || missing "$python was not found"
torch=$("$python" -c 'import torch; print(torch.__path__[0])' 2>/dev/null) || missing "$python has no torch"
architecture=$("$python" -c 'import torch; print("%d%d" % torch.cuda.get_device_capability())' 2>/dev/null) ||
  missing "torch sees no GPU on this machine: nothing was built, tested or measured"

mkdir -p "$parts"
rm -f "$parts"/*
: >"$log"
# shellcheck source=tests/gpu/steps.sh
source "$root/tests/gpu/steps.sh"

{
  nvidia-smi || true
  nvcc --version || true
  cmake --version || true
  "$python" -c 'import torch; print("torch", torch.__version__, "CUDA", torch.version.cuda)' || true
} >"$result.env" 2>&1

# What was built elsewhere may want libraries that this machine has not.
isUsable() {
  [[ -e $prebuilt/lib/libnormlens_ops.so ]] || return 1
  local each
  for each in "$prebuilt"/bin/* "$prebuilt"/lib/*.so; do
    # Not those of CUDA's half, which are found when it has been loaded.
    if LD_LIBRARY_PATH=$prebuilt/lib:$torch/lib ldd "$each" 2>&1 | grep -E "not found" >>"$log"; then
      say "$each was built for another machine, see $log"
      return 1
    fi
  done
}

buildHere() {
  local nvcc program
  nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
  [[ -x $nvcc ]] || missing "nvcc was not found: install the CUDA toolkit or set CUDA_HOME"
  for program in cmake ninja; do
    command -v "$program" >/dev/null || missing "$program was not found"
  done
  mkdir -p "$build"
  # Compilers that we do not know may warn of more.
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNORMLENS_ENGINE=OFF -DNORMLENS_CUDA=ON \
    -DNORMLENS_WERROR=OFF -DNORMLENS_CUDA_ARCHITECTURES="$architecture" -DCMAKE_CUDA_COMPILER="$nvcc" \
    -DTorch_DIR="$torch/share/cmake/Torch" >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 1; }
  step build 240 cmake --build "$build"
  [[ $status == 0 ]] || exit 1
}

if isUsable; then
  built=$prebuilt
  export LD_LIBRARY_PATH=$prebuilt/lib:$torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  steps+=("prebuilt=used")
else
  [[ $part != engine ]] || missing "the engine is not built here: tests/gpu/prebuild does that elsewhere"
  say "building for compute capability $architecture into $build"
  buildHere
  built=$build
fi
# shellcheck disable=SC2034  # used by the parts
library=$built/lib/libnormlens_ops.so
# shellcheck source=/dev/null
source "$root/tests/gpu/parts/$part.sh"
