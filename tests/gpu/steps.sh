# shellcheck shell=bash
# How run.sh runs its steps, each with a limit, and reports them whatever ends the run. Uses result, log, parts, python,
# root and at_most of run.sh.
# shellcheck disable=SC2154
steps=()
status=0
running= # the step's process

# shellcheck disable=SC2317  # called by a trap
report() {
  local ended=$?
  trap - EXIT
  "$python" "$root/tests/gpu/report.py" "$result" "$parts" "$log" "${steps[@]}" ||
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
  { echo "== $name"; PYTHONUNBUFFERED=1 exec timeout -k 10 "$limit" "$@"; } >>"$log" 2>&1 &
  running=$!
  wait "$running" || code=$?
  running=
  ((code == 0)) || { outcome="failed with $code"; status=1; }
  ((code == 0 || SECONDS - since < limit)) || outcome="ran past $limit s"
  steps+=("$name=$outcome")
  say "$name: $outcome, $((SECONDS - since)) s"
}

# told <file> <command>: what the command prints on stdout is a measurement.
told() {
  local file=$1
  shift
  "$@" >"$file.part" && mv "$file.part" "$file"
}
export -f told
