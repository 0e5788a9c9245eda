#!/usr/bin/env bash
# lost_rank.sh WAY -- COMMAND...: runs COMMAND, in which a rank is lost in the given way, and checks that the job ends within
# seconds, with the status and the messages that this way is to have.
set -uo pipefail
way=$1
shift 2
limit_s=15

fail() { printf 'FAILED: %s\n%s\n' "$1" "$output"; exit 1; }
count() { grep -o -- "$1" <<<"$output" | wc -l; }  # not lines: the launcher may join those of two processes

# TERM first, so that the launcher takes its processes with it.
output=$(timeout --kill-after=5 "$limit_s" "$@" 2>&1)
status=$?
[[ $way != works || $status == 0 ]] || fail "status $status: a process that works for long was taken for lost"
[[ $way == works ]] && exit
((status != 0)) || fail "the job ended as if nothing had been lost"
((status != 124)) || fail "it hung: no end in $limit_s s"

case $way in
  killed)  # the launcher's account of the lost rank: timeout's own last resort would be 137 too
    [[ $output == *"signal 9"* || $output == *"Killed"* ]] || fail "the launcher does not tell of the killed rank" ;;
  stopped) [[ $(count "process 2: nothing has come from it for 2 s") -ge 1 ]] || fail "no error names the stopped process" ;;
  told) [[ $(count "ended by SIGTERM") == 2 ]] || fail "not each process that waits says that it was ended" ;;
  throws) [[ $(count "failed alone") == 1 && $status == 1 ]] || fail "status $status, expected 1 and one message" ;;
  abandons) [[ $(count "failed alone") == 1 && $status == 7 ]] || fail "status $status, expected 7 and one message" ;;
  agrees)
    [[ $(count "rank_2.h5: missing") == 3 && $status == 1 ]] || fail "status $status, expected 1 and all ranks' message"
    [[ $output != *MPI_ABORT* ]] || fail "an agreed error must not abort" ;;
esac
