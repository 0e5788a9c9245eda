#!/usr/bin/env bash
# device_fault.sh WAY -- COMMAND...: runs COMMAND on 3 ranks, in which an exchange over devices fails on the last one in the given
# way, and checks that all of them end within 5 s and the time that nothing may move (1 s), told the same.
set -uo pipefail
way=$1
shift 2
limit_s=12  # with the start of all processes, on a busy machine

fail() { printf 'FAILED: %s\n%s\n' "$1" "$output"; exit 1; }
count() { grep -o -- "$1" <<<"$output" | wc -l; }  # not lines: the launcher may join those of two processes

output=$(timeout --kill-after=5 "$limit_s" "$@" 2>&1)
status=$?
((status != 0)) || fail "the job ended as if nothing had failed"
((status != 124)) || fail "it hung: no end in $limit_s s"

case $way in
  hangs) message="together: exchange over GPUs: no progress for 1 s on process" times=3 ;;
  sticks) message="error: process 2: exchange failed" times=1 ;;  # by the watchdog
  *) message="together: process 2: $way failed" times=3 ;;
esac
[[ $(count "$message") == "$times" ]] || fail "expected $times times '$message'"
