# shellcheck shell=bash
# The steps of run.sh: each has a limit, none stops another, and whatever ends the run, what was found is packed and
# summed up. Uses results, out, total, python, root and, if one was started, the process `maker` of run.sh.
# shellcheck disable=SC2154
status=0
deadline=$total # of the part that is running, in seconds since the start of the script
running=        # the process of the step that is running
running_name=start

say() { printf '%s\n' "$*"; }
record() { say "$*" | tee -a "$results/steps.txt"; }

pack() {
  tar -C "${results%/*}" -czf "$out/results.tgz.part" "${results##*/}" 2>/dev/null &&
    mv "$out/results.tgz.part" "$out/results.tgz"
}

# shellcheck disable=SC2317  # called by a trap
finish() {
  local ended=$?
  trap - EXIT INT TERM
  kill "$packer" ${maker:+"$maker"} 2>/dev/null || true
  pack # the summary must not cost what it sums up
  "$python" "$root/tests/gpu/summary.py" "$results" 2>&1 | tee "$results/summary.txt" || true
  if ! { cp "$results/summary.txt" "$out" && pack; }; then
    say "$out: the results could not be written"
    status=1
  fi
  rm -rf "$work"
  exit "$((ended > status ? ended : status))"
}
# shellcheck disable=SC2317  # called by a trap
interrupted() {
  [[ ! $running ]] || kill "$running" 2>/dev/null || true
  record "$running_name: INTERRUPTED"
  exit 130
}

# Packs every minute, because a machine may vanish. The packer keeps no output of this script open.
startSteps() {
  : >"$results/steps.txt"
  (while sleep 60 && kill -0 $$; do pack; done) >/dev/null 2>&1 &
  packer=$!
  trap finish EXIT
  trap interrupted INT TERM
}

# part NAME PERCENT: false if ONLY leaves the part out. The part may take so much of what is left of the time.
part() {
  [[ -z ${ONLY:-} || " $ONLY " == *" $1 "* ]] || return 1
  deadline=$((SECONDS + (total - SECONDS) * $2 / 100))
}

# waitFor PROCESS SECONDS: its exit status, or 124. A process that hangs in the driver cannot be killed, and is left.
waitFor() {
  local until=$((SECONDS + $2))
  while kill -0 "$1" 2>/dev/null; do
    ((SECONDS < until)) || return 124
    sleep 0.05
  done
  wait "$1"
}

# step NAME LIMIT COMMAND...: returns the command's exit status, 124 or 137 where the time was over. Stdout and
# stderr go to NAME.log, or stdout to the file that `into` names. The command runs in the background, because a shell
# heeds no signal while it waits for another.
step() {
  local name=$1 limit=$2 code=0 outcome since=$SECONDS
  local log=$results/$name.log
  shift 2
  ((limit < deadline - SECONDS)) || limit=$((deadline - SECONDS))
  if ((limit < 4)); then
    record "$name: LEFT OUT, no time"
    status=1
    return 124
  fi
  running_name=$name
  PYTHONUNBUFFERED=1 timeout -k 5 "$limit" "$@" >"${into:-$log}" 2>>"$log" &
  running=$!
  waitFor "$running" $((limit + 10)) || code=$?
  running=
  [[ -s ${into:-$log} ]] || rm -f "${into:-$log}"
  if ((code == 0)); then
    outcome=passed
  else
    outcome="FAILED with $code"
    ((SECONDS - since < limit)) || outcome="RAN PAST $limit s"
    status=1
  fi
  record "$name: $outcome, $((SECONDS - since)) s$(((code == 0)) || reasonIn "$log")"
  return "$code"
}

# The last line that says something.
reasonIn() { sed '/^[[:space:]]*$/d' "$1" 2>/dev/null | tail -n 1 | cut -c 1-200 | sed 's/^/: /'; }
