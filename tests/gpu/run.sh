#!/usr/bin/env bash
# Tests and measures on a machine with an NVIDIA GPU, as one command of at most 560 seconds, the most valuable first.
# Nothing is fetched there: it needs python3 with torch 2.11 or newer and, for some steps, transformers, timm and
# compute-sanitizer.
#   bash tests/gpu/run.sh
# What it takes along lies in build/gpu: prebuilt/ is what tests/gpu/prebuild made (without it, or where it does not load,
# all is built there with nvcc, cmake and ninja), portable/ is what packaging/portable collected for such a build.
#
# Every step has a limit, none stops another, and together they end in time. What they find becomes one archive,
# results.tgz, which is packed every minute; the names in it have letters, digits, dots and dashes only. The summary is
# printed last, in less than 12,000 characters.
# Variables of the environment:
#   OUT                 the folder of results.tgz and summary.txt, build/gpu/out unless set
#   TOTAL               seconds that all steps may take together, 560 unless set
#   ONLY                parts to run, for what is left of the time: right engine kernels tuning sound lab
#   DRY=1               goes through the engine's steps on a CPU, with small models
#   PREBUILT, PORTABLE  folders to use instead of those of build/gpu
#   PYTHON              the python3 to use
# Exits 1 if a step fails or is left out, 2 if there is no GPU or no torch, 130 if it is interrupted.
set -uo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
out=$(readlink -m "${OUT:-$root/build/gpu/out}")
total=${TOTAL:-560}
python=${PYTHON:-python3}
prebuilt=$(readlink -m "${PREBUILT:-$root/build/gpu/prebuilt}")
portable=$(readlink -m "${PORTABLE:-$root/build/gpu/portable}")
work=$(mktemp -d) || exit 2
results=$work/results
models=$work/models
maker= # the process that makes the models
mkdir -p "$out" "$results" "$models" && touch "$out/summary.txt" || { rm -rf "$work"; exit 2; }
# shellcheck source=tests/gpu/steps.sh
source "$root/tests/gpu/steps.sh"

# What the bench measures with. On a CPU it only shows that every command is right.
if [[ ${DRY:-} ]]; then
  device=cpu
  graphs=()
  short=(--rounds 1 --iterations 1 --warmup 1)
  lengths=16,32,64 few_lengths=16,32 batches=1,2
else
  device=cuda
  graphs=(--cuda-graphs)
  short=(--rounds 8 --iterations 4)
  lengths=64,256,1024,4096,16384 few_lengths=64,1024 batches=1,16
fi

facts() {
  date
  uname -a
  nproc
  free -g
  nvidia-smi
  nvidia-smi -q -d CLOCK
  ls -la /dev/nvidia* /usr/local/nvidia
  ldconfig -p | grep -E 'libcuda\.so|nvidia-ml'
  nvcc --version
  cmake --version
  gcc --version
  say "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}"
  "$python" -c 'import ctypes, sys, torch
print("Python", sys.version, "torch", torch.__version__, "CUDA", torch.version.cuda)
print("Landlock", ctypes.CDLL(None, use_errno=True).syscall(444, 0, 0, 1))'
}

# Sets `torch`, its folder, and `architecture`, the GPU's compute capability, without a GPU that of an H100.
findTorch() {
  read -r architecture torch < <("$python" -c 'import torch
print("%d%d" % torch.cuda.get_device_capability() if torch.cuda.is_available() else "none", torch.__path__[0])')
  if [[ ! $torch ]]; then record "torch: MISSING for $python"; exit 2; fi
  [[ $architecture != none || $device == cpu ]] || { record "GPU: MISSING, torch sees none"; exit 2; }
  architecture=${architecture/none/90}
}

# The first library of the driver that the loader knows, or the one in the folders of container images.
findDriver() {
  local path
  path=$(ldconfig -p | awk '/libcuda\.so\.1/ { print $NF; exit }')
  for path in "$path" /usr/local/nvidia/lib64/libcuda.so.1 /usr/local/nvidia/lib/libcuda.so.1; do
    if [[ -e $path ]]; then say "$path"; return; fi
  done
}

# Sets `ours`, what stands before programs of the folder FOLDER: where their loader looks. Only they get it, because the
# machine's own Python would take its libcrypto from there too.
useFolder() {
  built=$1
  ours=(env LD_LIBRARY_PATH="$built/lib:$torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
}

# What was built elsewhere may want libraries that this machine lacks. CUDA's half is found when it is loaded.
isUsable() {
  local file
  for file in "$built"/bin/{normlens-engine,normlens-bench} "$built"/lib/libnormlens_*.so; do
    "${ours[@]}" ldd "$file" 2>&1 | grep -E 'not found|No such file' | sed "s|^|${file##*/}: |"
  done >"$results/lacking.txt"
  [[ ! -s $results/lacking.txt ]] && "${ours[@]}" "$built/bin/normlens-engine" --version >>"$results/facts.txt" 2>&1
}

buildHere() {
  cmake -S "$root" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$portable" \
    -DTorch_DIR="$torch/share/cmake/Torch" -DNORMLENS_GUI=OFF -DNORMLENS_ONNX=OFF -DNORMLENS_TESTS=OFF \
    -DNORMLENS_WERROR=OFF -DNORMLENS_UNITY=ON -DNORMLENS_CUDA=ON -DNORMLENS_CUDA_ARCHITECTURES="$architecture" &&
    cmake --build "$work/build" -j "$(nproc)" -t normlens_ops normlens-bench normlens-engine normlens_cuda_graph -- -k 0
}
export -f buildHere

# Sets `engine`, `library` and what useFolder sets.
findPrograms() {
  useFolder "$prebuilt"
  if isUsable; then
    record "prebuilt: used"
  else
    record "prebuilt: NOT USABLE$(reasonIn "$results/lacking.txt")"
    export root work portable torch architecture
    step build 200 bash -c buildHere
    useFolder "$work/build"
  fi
  way=("${ours[@]}")
  library=$built/lib/libnormlens_ops.so
  engine=$built/bin/normlens-engine
}

# Beside the steps that need the GPU: the models in the order in which they are measured.
makeModels() {
  OMP_NUM_THREADS=6 nice -n 5 "$python" "$root/tests/gpu/make_models.py" "$models" ${DRY:+--small} \
    gpt2 opt-125m bert vit gpt2-medium >"$results/models.log" 2>&1 &
  maker=$!
}

# await MODEL SECONDS: whether it has been made by then.
await() {
  local until=$((SECONDS + $2))
  while [[ ! -e $models/$1.pt ]] && ((SECONDS < until)) && kill -0 "$maker" 2>/dev/null; do sleep 0.2; done
  [[ -e $models/$1.pt ]] || { record "$1: NOT MADE, see models.log"; status=1; return 1; }
}

checkKernels() {
  step calls 25 "$python" "$root/tests/gpu/test_grid.py" "$library" --calls
  step grid-small 30 "$python" "$root/tests/gpu/test_grid.py" "$library" --small
}

# bench NAME LIMIT WORD...: the JSON object goes to bench-NAME.json, that of a bench that was cut short too.
bench() {
  local name=$1 limit=$2
  shift 2
  into=$results/bench-$name.json step "bench-$name" "$limit" "${way[@]}" "$engine" bench "$@" --device "$device" --json
}

# sweep NAME LIMIT DIMENSION VALUES WORD...: a bench at each value. A point that kills the CUDA context takes the later
# ones of its process along, so these are measured once more, in a process each, until two in a row fail. Returns 0 if a
# point was measured at the first attempt.
sweep() {
  local name=$1 limit=$2 dimension=$3 values=$4 code=0 again value failures=0
  shift 4
  bench "$name" "$limit" "$@" --sweep "$dimension=$values" || code=$?
  ((code != 124 && code != 137)) || return "$code"
  again=$("$python" "$root/tests/gpu/summary.py" --again "$results/bench-$name.json" "$dimension" "$values") || status=1
  for value in $again; do
    if bench "$name-$value" 25 "$@" --sweep "$dimension=$value"; then failures=0; else failures=$((failures + 1)); fi
    ((failures < 2)) || break
  done
  return "$code"
}

# light NAME [VARIABLE=VALUE]: whether the engine runs a model on the GPU in an environment like that.
light() {
  local name=$1
  way=("${ours[@]}" "${@:2}")
  if [[ $device == cuda ]]; then
    into=$results/doctor-$name.json step "doctor-$name" 20 "${way[@]}" "$engine" doctor --gpu --json
  fi
  bench "light-$name" 30 "$root/resources/models/gpt2.pt" --fold --rounds 4 || return 1
  record "engine: runs $name"
}

# Sets `way`, what stands before the engine: nothing more, else its libraries by name, which opens their folders to
# the worker behind its walls, else a library that keeps the walls from being put up. The last one is for our own models,
# on a machine that is thrown away.
findWay() {
  local driver
  light as-it-is && return
  driver=$(findDriver)
  light with-folders-named LD_PRELOAD="$torch/lib/libc10.so${driver:+:$driver}" && return
  step no-walls 20 gcc -O2 -shared -fPIC -o "$work/no_walls.so" "$root/tests/gpu/no_walls.c" -ldl &&
    light without-walls LD_PRELOAD="$work/no_walls.so"
}

# Each norm beside the original, then our fused kernels with LayerNorm left as it is, then what the fold adds to these.
measureGpt2() {
  local gpt2=$models/gpt2.pt plain=(--dtype bfloat16 "${short[@]}")
  local captured=("${plain[@]}" "${graphs[@]}")
  await gpt2 60 || return
  sweep gpt2-eager 35 seq "$few_lengths" "$gpt2" --fold "${plain[@]}"
  sweep gpt2-portable 45 seq "$lengths" "$gpt2" --fold "${captured[@]}"
  sweep gpt2-fast 45 seq "$lengths" "$gpt2" --fold --norm fast "${captured[@]}"
  step fuse 25 "${way[@]}" "$engine" fuse "$gpt2" -o "$models/gpt2-fused.pt" --no-verify &&
    sweep gpt2-fuse-alone 40 seq "$lengths" "$gpt2" "$models/gpt2-fused.pt" "${captured[@]}"
  step fold 25 "${way[@]}" "$engine" fold "$gpt2" --norm fast -o "$models/gpt2-folded.pt" --no-verify &&
    sweep gpt2-fold-alone 40 seq "$lengths" "$models/gpt2-fused.pt" "$models/gpt2-folded.pt" "${captured[@]}"
  sweep gpt2-float32 30 seq "$few_lengths" "$gpt2" --fold --norm fast --dtype float32 "${short[@]}" "${graphs[@]}"
}

# With graphs where the model can be captured, else without.
measureModel() {
  local name=$1 words=(--fold --norm fast --dtype bfloat16 "${short[@]}")
  shift
  await "$name" 20 || return
  sweep "$name" 30 "$@" "$models/$name.pt" "${words[@]}" "${graphs[@]}" ||
    [[ ${#graphs[@]} == 0 ]] || sweep "$name-eager" 25 "$@" "$models/$name.pt" "${words[@]}"
}

timeKernels() {
  step kernels 110 "${ours[@]}" "$built/bin/normlens-bench" - - "$library" --json "$results/kernels.json" kernels-gpu
}

# tune SIZES CHOICE...: each choice of LaunchTuning (kernels/cuda/launch_config.h) at the sizes that it is about, beside
# what is taken without it.
tune() {
  local sizes=$1 choice name
  shift
  for choice in "" "$@"; do
    name=tuning-$sizes-${choice:-as-it-is}
    name=${name//=/-}
    step "$name" 25 "${ours[@]}" NORMLENS_LAUNCH="$choice" "$built/bin/normlens-bench" - - "$library" \
      --json "$results/$name.json" "kernels-$sizes"
  done
}

# Our kernels only: torch's calls into the driver fail on purpose now and then, and its allocator hides small overruns.
sanitize() {
  local sanitizer
  sanitizer=$(command -v compute-sanitizer || say "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")
  step "$1" 60 env PYTORCH_NO_CUDA_MEMORY_CACHING=1 "$sanitizer" --tool "$1" --report-api-errors no \
    --kernel-name kns=normlens --error-exitcode 1 "$python" "$root/tests/gpu/test_grid.py" "$library" --calls
}

checkTheRest() {
  local choice
  step ops-on-the-gpu 40 "$python" "$root/tests/kernels/test_ops.py" "$library" cuda
  for choice in few-rows=0 cluster-blocks=8 persistent-blocks=3; do
    step "grid-${choice/=/-}" 30 env NORMLENS_LAUNCH="$choice" \
      "$python" "$root/tests/gpu/test_grid.py" "$library" --small
  done
  [[ ! -x $built/bin/torchscript_read_test ]] ||
    step runner 40 "${way[@]}" "$built/bin/torchscript_read_test" \
      --gtest_filter='TorchRunner.*:DeviceTimes.*:CapturedPasses.*'
  step grid 80 "$python" "$root/tests/gpu/test_grid.py" "$library"
}

measureLab() {
  local run='{"experiment":"cost","device":"%s","width":%d,"layers":[%d],"rounds":6,"epochs":2}'
  # shellcheck disable=SC2059
  printf "$run" "$device" "${1:-1024}" "${2:-12}" >"$results/lab-run.json"
  into=$results/lab.json step lab 40 "${way[@]}" "$engine" lab "$results/lab-run.json" --json
}

runs= # whether the engine runs a model
startSteps
facts >"$results/facts.txt" 2>&1
findTorch
findPrograms
makeModels
if [[ $device == cuda ]] && part right 16; then checkKernels; fi
if part engine 22 && findWay; then
  runs=1
  part engine 60
  measureGpt2
  for name in opt-125m bert vit; do measureModel "$name" batch "$batches"; done
  measureModel gpt2-medium seq "$few_lengths"
fi
if [[ $device == cuda ]]; then
  if part kernels 55; then timeKernels; fi
  if part tuning 55; then
    tune few few-rows=0 few-rows=2 few-rows=8
    tune wide wide-row-bytes=262144 cluster-blocks=8
    tune narrow persistent-blocks=2 persistent-blocks=3
  fi
  if part sound 90; then
    sanitize memcheck
    sanitize racecheck
    checkTheRest
  fi
fi
if [[ $runs ]] && part lab 100; then
  if [[ $device == cuda ]]; then measureLab; else measureLab 64 2; fi
fi
exit 0
