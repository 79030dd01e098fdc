# shellcheck shell=bash
# Of run.sh: right or wrong first, then how fast, then what takes long. Uses built, library, parts, python and root.
# shellcheck disable=SC2154
step "every op once" 60 "$python" "$root/tests/gpu/test_grid.py" "$library" --calls
step "ops on the GPU" 60 "$python" "$root/tests/kernels/test_ops.py" "$library" cuda
step "grid against float64, small" 40 "$python" "$root/tests/gpu/test_grid.py" "$library" --small
step measurement 170 "$built/bin/normlens-bench" - - "$library" --json "$parts/kernels.json" kernels-gpu
step "grid against float64" 100 "$python" "$root/tests/gpu/test_grid.py" "$library"
for choice in few-rows=0 cluster-blocks=8 persistent-blocks=3; do
  step "grid with $choice" 40 env NORMLENS_LAUNCH="$choice" "$python" "$root/tests/gpu/test_grid.py" "$library" --small
done

# Our kernels only: torch's calls into the driver fail on purpose now and then, and its allocator hides small overruns.
sanitizer=$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")
sanitize() {
  if [[ ! -x $sanitizer ]]; then
    steps+=("compute-sanitizer $1=not found")
    return
  fi
  step "compute-sanitizer $1" "$2" env PYTORCH_NO_CUDA_MEMORY_CACHING=1 "$sanitizer" --tool "$1" \
    --report-api-errors no --kernel-name kns=normlens --error-exitcode 1 \
    "$python" "$root/tests/gpu/test_grid.py" "$library" --calls
}
sanitize memcheck 90
sanitize racecheck 80
step "ops on the CPU" 30 "$python" "$root/tests/kernels/test_ops.py" "$library"
