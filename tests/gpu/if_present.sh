#!/usr/bin/env bash
# if_present.sh PROBE COMMAND...: runs COMMAND where PROBE finds a GPU; else says why it doesn't, with status 77.
"$1" || exit
exec "${@:2}"
