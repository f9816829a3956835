#!/usr/bin/env bash
# compute-sanitizer's tools over the problems of shapes.txt, which has those of a kernel of every family at least. On a machine
# with a GPU:
#
#   tests/ptx_machine/sanitize.sh SHAPES_TEST OUT [TOOL=PROBLEMS ...]
#
# SHAPES_TEST is the program; PROBLEMS are taken of each kernel at most, the cheapest ones, as racecheck takes its time. A few
# kernels share a process, and as many processes run at a time as there are processors. OUT/TOOL.txt has a line for each: whether
# it passed, seconds, kernels; OUT keeps the logs of those that did not.
set -uo pipefail
shapes_test=$(realpath "$1") out=$(realpath "$2") kernels_together=3 limit=120
shift 2
shapes=${CONV_TRANSPOSE_SHAPES:-$(dirname "$(realpath "$0")")/shapes.txt}

# TOOL PROBLEMS KERNEL...
sanitize() {
    local tool=$1 problems=$2 log=$out/$1.$3.log verdict=FAILED
    shift 2
    awk -v names="$*" -v most="$problems" 'BEGIN { split(names, all, " "); for (i in all) is[all[i]] }
        $1 in is && ++seen[$1] <= most' "$shapes" >"$log.shapes"
    CONV_TRANSPOSE_SHAPES=$log.shapes timeout -k 5 "$limit" compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$shapes_test" >"$log" 2>&1 && ! grep -qE 'SUMMARY: [1-9]' "$log" && verdict=passed  # warnings are no errors to it
    echo "$verdict $SECONDS $*" >>"$out/$tool.txt"
    rm "$log.shapes"
    [ $verdict = FAILED ] || rm "$log"
}
export -f sanitize
export shapes_test out shapes limit

[ $# -gt 0 ] || set -- memcheck=100 synccheck=100 initcheck=100 racecheck=3
for tool; do
    awk '!/^#/ && !seen[$1]++ { print $1 }' "$shapes" | shuf --random-source=<(yes) |
        xargs -P "$(nproc)" -n "$kernels_together" bash -c 'sanitize "${0%=*}" "${0#*=}" "$@"' "$tool"
    echo "${tool%=*}: $(grep -c '^passed' "$out/${tool%=*}.txt") of $(wc -l <"$out/${tool%=*}.txt") processes passed"
    grep '^FAILED' "$out/${tool%=*}.txt"
done
