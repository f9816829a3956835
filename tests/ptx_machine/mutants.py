#!/usr/bin/env python3
"""Puts small faults into the PTX of some kernels, one by one, and tells how many of them the shapes of shapes.txt
notice on ptx_machine: a wait deleted, a load 4 bytes off, a comparison off by one. Run by hand, from the root:
    tests/ptx_machine/mutants.py [--jobs 2] [--kernel NAME ...] [--verbose] [--seek SECONDS]
What survives is listed with its place in the text, with --seek and a problem for shapes.txt that would notice it, if
find_shapes finds one so soon; the score comes last. Mutants that change nothing, as
faults.py proves by the paths through the program, are not run and do not count. Those of what is superfluous count
only where they are noticed."""

import argparse
import collections
import concurrent.futures
import math
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

from faults import mutants_of

SHAPES = pathlib.Path(__file__).with_name("shapes.txt")

# Every family of schedules that takes any attributes, and what each synchronizes with; on GPUs without wgmma: mma.sync.
# Those with maps use the copy engine and mbarriers.
KERNELS = [
    ("forward_tf32_cuda_implicit_gemm_any_nchw", 90),
    ("forward_tf32_cuda_implicit_gemm_any_nchw", 80),
    ("forward_tf32_cuda_implicit_gemm_any_nchw_as_it_lies_weight_maps_128x64", 90),
    ("forward_tf32x3_cuda_implicit_gemm_any_nchw_c128", 90),
    ("forward_f32_cuda_implicit_gemm_any_nchw_c32", 90),
    ("forward_f32_cuda_implicit_gemm_any_nchw_sub_pixel_given_c32", 90),
    ("forward_f32_cuda_winograd_any_nchw", 90),
    ("forward_f32_cuda_gather_any_any_small", 90),
    ("forward_f32_cuda_gather_any_any", 90),
    ("forward_f32_cuda_depthwise_any_any_columns", 90),
    ("forward_f32_cuda_depthwise_any_any_c1x1_staged3", 90),
    ("forward_f16_cuda_depthwise_any_nhwc_c1x1_staged3", 90),
    ("forward_f32_cuda_implicit_gemm_any_nchw_c64_split", 90),
    ("forward_tf32_cuda_implicit_gemm_any_nchw_pairs_c128", 90),
    ("forward_f16_cuda_implicit_gemm_any_nhwc_maps_256x64", 90),
    ("forward_f16_cuda_implicit_gemm_any_nchw_as_it_lies_256x64", 90),
    ("forward_f16_cuda_implicit_gemm_any_nchw_as_it_lies_weight_rows_256x64", 90),
    ("forward_tf32_cuda_implicit_gemm_any_nchw_as_it_lies_weight_rows_256x128", 90),
    ("forward_f16_cuda_implicit_gemm_any_nhwc_128x64", 80),
    ("input_gradient_f16_cuda_implicit_gemm_any_nchw_maps_128x64", 90),
    ("input_gradient_f16_cuda_implicit_gemm_any_nchw_as_it_lies_in_pairs_128x64", 90),
    ("input_gradient_f16_cuda_gather_any_nhwc_few_summed", 90),
    ("weight_gradient_tf32_cuda_product_any_nchw_c64x256", 90),
    ("weight_gradient_tf32_cuda_product_any_nchw_c16x32", 80),
    ("weight_gradient_f32_cuda_product_any_nchw_c64", 90),
    ("weight_gradient_f32_cuda_winograd_any_nchw", 90),
    ("weight_gradient_f32_cuda_depthwise_any_any_c1x1_staged_window3", 90),
    ("weight_gradient_f16_cuda_implicit_gemm_any_nhwc_maps_rows_c64x128", 90),
    ("weight_gradient_f16_cuda_implicit_gemm_any_nhwc_maps_c64x256", 90),
    ("weight_gradient_f16_cuda_implicit_gemm_any_nchw_as_it_lies_in_pairs_c128", 90),
]


def path_of(folder, kernel, gpu):
    for features in ("a", ""):
        path = folder / f"{kernel}.sm_{gpu}{features}.ptx"
        if path.exists():
            return path
    raise SystemExit(f"mutants.py: no text of {kernel} for sm_{gpu} in {folder}")


def interpret(build, folder, gpu, seconds, program, *arguments):
    """A program on ptx_machine, for so many seconds of a processor at most."""
    environment = dict(os.environ, LD_LIBRARY_PATH=str(build / "tests/ptx_machine"), PTX_MACHINE_GPU=str(gpu),
                       PTX_MACHINE_TIMING="late", PTX_MACHINE_CODE=f"{folder}:{build / 'runtime/kernels'}")
    limit = math.ceil(seconds)
    return subprocess.run([build / "tests/ptx_machine" / program, *arguments], env=environment, capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))


def run(build, folder, kernel, gpu, seconds):
    """What the tests say, within so many seconds of a processor: "" where they notice nothing."""
    done = interpret(build, folder, gpu, seconds, "shapes_test", "--gtest_brief=1", f"--gtest_filter=*/{kernel}")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "does not end"
    if any(text in done.stdout for text in ("SKIPPED", "0 tests from", "no problem of")):
        raise SystemExit(f"mutants.py: no test of {kernel}: {done.stdout}")
    if done.returncode == 0:
        return ""
    notes = re.findall(r"ptx_machine: (.*)", done.stderr) + re.findall(r"(element .*)", done.stdout)
    return notes[0] if notes else f"exit status {done.returncode}"


def verdict(build, kernels, mutant, seconds, seek):
    """How it is noticed, "" where it is not, and then a problem that would notice it."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = path_of(kernels, mutant.kernel, mutant.gpu)
        (folder / f"{mutant.kernel}.fatbin").symlink_to((kernels / f"{mutant.kernel}.fatbin").resolve())
        (folder / source.name).write_text(mutant.ptx)
        noticed = run(build, folder, mutant.kernel, mutant.gpu, seconds)
        found = ""
        if not noticed and seek:
            found = interpret(build, folder, mutant.gpu, 2 * seek, "find_shapes", "fault", str(seek), SHAPES, mutant.kernel).stdout
        return noticed, found.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default="build")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kernel", action="append", default=[], help="only this one")
    parser.add_argument("--seek", type=float, default=0, help="seconds for a problem that notices what survives")
    parser.add_argument("--verbose", action="store_true", help="says how each mutant was noticed")
    options = parser.parse_args()
    build = options.build.resolve()
    kernels = build / "runtime/kernels"
    wanted = [k for k in KERNELS if not options.kernel or k[0] in options.kernel]
    killed, survivors, harmless, superfluous = collections.Counter(), collections.Counter(), 0, 0

    def seconds_as_it_is(kernel_and_gpu):
        begin = time.monotonic()
        if problem := run(build, kernels, *kernel_and_gpu, 600):
            raise SystemExit(f"mutants.py: {kernel_and_gpu[0]} fails as it is: {problem}")
        return time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        mutants, limits = [], []
        for kernel, seconds in zip(wanted, pool.map(seconds_as_it_is, wanted)):
            for mutant in mutants_of(path_of(kernels, *kernel).read_text(), *kernel):
                if not mutant.harmless:
                    mutants.append(mutant)
                    limits.append(2 + 4 * seconds)
                    continue
                harmless += 1
                if options.verbose:
                    print(f"changes nothing: {mutant.place()}\n    {mutant.harmless}")
        def judge(mutant, seconds):
            return verdict(build, kernels, mutant, seconds, 0 if mutant.superfluous else options.seek)

        for mutant, (noticed, found) in zip(mutants, pool.map(judge, mutants, limits)):
            if mutant.superfluous and not noticed:
                superfluous += 1
                print(f"of what is superfluous: {mutant.place()}\n    {mutant.superfluous}", flush=True)
                continue
            if options.verbose or not noticed:
                word = noticed[:200] or found
                print(f"{'killed' if noticed else 'SURVIVES'}: {mutant.place()}" + (f"\n    {word}" if word else ""), flush=True)
            (killed if noticed else survivors)[mutant.kernel, mutant.gpu] += 1
    for kernel, gpu in wanted:
        of_kernel = kernel, gpu
        print(f"{kernel} sm_{gpu}: {killed[of_kernel]} of {killed[of_kernel] + survivors[of_kernel]} noticed")
    total = killed.total() + survivors.total()
    print(f"score: {killed.total()} of {total}, {100 * killed.total() / max(total, 1):.1f} %; {harmless} more change nothing, "
          f"{superfluous} are of what is superfluous")
    return 0


if __name__ == "__main__":
    sys.exit(main())
