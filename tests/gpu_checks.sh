#!/usr/bin/env bash
# All tests of the GPU, then the four tools of compute-sanitizer on a part of them.
#
#   tests/gpu_checks.sh FOLDER [tests|sanitizers]      FOLDER holds conv_transpose_tests, and device_failure_tests and
#                                                     upsample_device_failure_tests if they are to run; ends with a line
#                                                     that counts
#
# compute-sanitizer slows kernels down tenfold to a hundredfold, so it sees fewer problems; initcheck, which complains
# of memory that the host has not written yet, sees those tests that write all of their inputs.
set -uo pipefail
tests=$1/conv_transpose_tests part=${2:-both}
passed=0 failed=0

if ! "$tests" --gtest_filter=PlanOptionsTest.AutomaticTakesTheGpu | grep -q 'PASSED.* 1 test'; then
    echo "no usable GPU on this machine"
    exit 1
fi

check() {
    local name=$1
    shift
    if "$@" >"/tmp/gpu_checks.$name.log" 2>&1; then
        passed=$((passed + 1)) && echo "passed  $name"
    else
        failed=$((failed + 1)) && echo "FAILED  $name"
        grep -E 'FAILED|Failure|ERROR|=====' -A4 "/tmp/gpu_checks.$name.log" | head -60
    fi
    grep -E 'suites? ran\.|PASSED|SKIPPED \] [0-9]+ tests?,|ERROR SUMMARY|RACECHECK SUMMARY' "/tmp/gpu_checks.$name.log"
}

[ "$part" = sanitizers ] || check tests "$tests" --gtest_filter='*cuda*:*Gpu*:Cuda.*'
for program in device_failure_tests upsample_device_failure_tests; do
    if [ "$part" != sanitizers ] && [ -x "$1/$program" ]; then check "$program" "$1/$program"; fi
done
for tool in memcheck racecheck synccheck initcheck; do
    [ "$part" = tests ] && break
    CONV_TRANSPOSE_RANDOM_PROBLEMS=${SANITIZED_PROBLEMS:-60} check "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$tests" --gtest_filter='*Random*/cuda:*PlanTest*/cuda:*EpilogueTest*/cuda'
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
