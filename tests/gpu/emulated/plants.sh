#!/usr/bin/env bash
# plants.sh PLANT -- COMMAND...: runs COMMAND with PLANT and checks that what was forgotten is found: by wrong bytes, by an error or
# by the emulated GPU itself. With the plant "none" nothing may be found.
set -uo pipefail
plant=$1
shift 2
output=$(timeout --kill-after=5 60 "$@" "$plant" 2>&1)
status=$?
fail() { printf 'FAILED: %s\n%s\n' "$1" "$output"; exit 1; }
((status != 124)) || fail "no end in 60 s"
if [[ $plant == none ]]; then
  ((status == 0)) || fail "something was found where nothing was forgotten"
  exit
fi
((status != 0)) || fail "it was not found"
case $plant in
  wait* | record | query | group | unclosed) found="differs|sum is not|MISUSE|found:" ;;
  link) found="ncclSend or ncclRecv" ;;
  unregistered) found="MISUSE: cudaMemcpyAsync .*not registered" ;;
esac
grep -qE "$found" <<<"$output" || fail "expected '$found'"
