#!/usr/bin/env python3
"""Times this library and PyTorch (on the CPU also oneDNN inside of it, and ONNX Runtime, where it is installed) on the
same problems in the same run, in alternation, after comparing every result with float64, and prints a Markdown table with
ratios. On one CPU thread it takes processor time, which other programs disturb less.

  compare_pytorch.py --library build/python/libconv_transpose.so --shapes tests/shapes/kernelbench.txt
"""
import argparse
import ctypes
import datetime
import itertools
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time

import torch

import c_library

# Relative l2 error against float64 beyond which a contender is not timed but reported as wrong, for short sums. The
# rounding of a sum of n terms one by one adds up like a random walk: its error grows with the square root of n.
TOLERANCE = {"float32": 2e-5, "tf32x3": 5e-5, "tf32": 2e-3, "float16": 2e-3, "bfloat16": 1e-2}
TOLERANCE_A_ROOT_OF_TERMS = 2.0**-23
REPEAT_SECONDS = 0.005


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", help="problem strings")
    parser.add_argument("--library", required=True, help="libconv_transpose.so")
    parser.add_argument("--shapes", action="append", default=[], help="file with a problem string and a name a line")
    parser.add_argument("--operation", default="forward", choices=c_library.OPERATIONS)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--precision", action="append", choices=c_library.PRECISIONS,
                        help="ours; may be given several times (default: all on cuda, float32 on cpu)")
    parser.add_argument("--format", default="float32", choices=c_library.ELEMENT_TYPES,
                        help="elements of all tensors; of 16 bits, ours is timed in both layouts, in place of precisions")
    parser.add_argument("--ours-channels-last", action="store_true", help="float32: ours in channels_last, too")
    parser.add_argument("--no-channels-last", action="store_true",
                        help="leave out channels_last tensors, for which PyTorch's search for an algorithm takes long")
    parser.add_argument("--rounds", type=int, default=15, help="timed repeats of each contender")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0 is one a core")
    parser.add_argument("--packed-weights", action="store_true",
                        help="ours: pack weights once, before the clock starts")
    parser.add_argument("--measured", action="store_true",
                        help="ours: also by the kernel that is fastest by measurement, as PyTorch's are with cudnn.benchmark")
    parser.add_argument("--markdown", help="also write the table to this file")
    parser.add_argument("--errors", action="store_true",
                        help="print errors against float64 beside PyTorch's of the same format and layout, not times")
    parser.add_argument("--json", help="write everything measured to this file")
    return parser.parse_args()


def read_problems(arguments):
    """Pairs (name, problem string)."""
    problems = [("", text) for text in arguments.problems]
    for path in arguments.shapes:
        with open(path) as file:
            for line in file:
                text, _, name = line.split("#")[0].strip().partition(" ")
                if text:
                    problems.append((name.strip(), text))
    return problems


class Task:
    """A problem's operation and its tensors, in as many sets as exceed the cache."""

    def __init__(self, problem, operation, device, element_type="float32"):
        self.problem, self.operation, self.device, self.element_type = problem, operation, device, element_type
        self.dtype = getattr(torch, element_type)
        p = problem
        self.attributes = [p.values(name) for name in ("stride", "padding", "output_padding", "dilation")]
        output = [(i - 1) * s - 2 * pad + d * (k - 1) + extra + 1
                  for i, k, s, pad, extra, d in zip(p.values("input"), p.values("kernel"), *self.attributes)]
        self.input_shape = (p.batch, p.in_channels, *p.values("input"))
        self.weight_shape = (p.in_channels, p.out_channels // p.groups, *p.values("kernel"))
        self.output_shape = (p.batch, p.out_channels, *output)
        self.result_shape = {"forward": self.output_shape, "input_gradient": self.input_shape,
                             "weight_gradient": self.weight_shape, "bias_gradient": (p.out_channels,)}[operation]
        self.bytes = self.dtype.itemsize * sum(map(math.prod, (self.input_shape, self.weight_shape, self.output_shape)))
        self.flops = 2 * math.prod(self.input_shape) * math.prod(self.weight_shape[1:])
        products = math.prod(self.output_shape) if operation == "bias_gradient" else self.flops / 2
        self.terms = products / max(1, math.prod(self.result_shape))  # of the sum behind each element
        torch.manual_seed(1)
        self.sets = [self._tensors() for _ in range(self._set_count())]

    def _set_count(self):
        if self.device == "cpu":
            return 1
        cache = torch.cuda.get_device_properties(0).L2_cache_size
        return min(64, 3 * cache // self.bytes + 1)

    def _tensors(self):
        uniform = lambda shape: torch.empty(shape, device=self.device, dtype=self.dtype).uniform_(-1, 1)
        return {"input": uniform(self.input_shape), "weight": uniform(self.weight_shape),
                "output_gradient": uniform(self.output_shape)}

    def pytorch(self, tensors):
        """The operation by PyTorch."""
        p = self.problem
        x, w, g = tensors["input"], tensors["weight"], tensors["output_gradient"]
        stride, padding, output_padding, dilation = self.attributes
        if self.operation == "forward":
            conv_transpose = getattr(torch.nn.functional, f"conv_transpose{p.rank}d")
            return conv_transpose(x, w, None, stride, padding, output_padding, p.groups, dilation)
        if self.operation == "bias_gradient":
            return g.sum((0, *range(2, g.dim())))
        wanted = [self.operation == "input_gradient", self.operation == "weight_gradient", False]
        gradients = torch.ops.aten.convolution_backward(g, x, w, None, stride, padding, dilation, True,
                                                        output_padding, p.groups, wanted)
        return gradients[0 if wanted[0] else 1]

    def expected(self):
        """The first set's result in float64: of the first image only, where images do not mix."""
        tensors = {name: t.double() if name == "weight" else self._part(t).double() for name, t in self.sets[0].items()}
        return self.pytorch(tensors)

    def _part(self, tensor):
        return tensor[:1] if self.operation in ("forward", "input_gradient") else tensor

    def errors(self, result, expected):
        """Relative l2, and the largest over the root of the expected values' mean square; not a number counts as infinite."""
        difference = self._part(result).double() - expected
        finite = lambda value: value.item() if value.isfinite() else math.inf
        largest = difference.abs().max() * math.sqrt(expected.numel()) / expected.norm()
        return finite(difference.norm() / expected.norm()), finite(largest)


class Contender:
    """Something that performs the task: run(i) enqueues it on the i-th set of tensors."""

    def __init__(self, name, accuracy, task, run, kernel="", clock=None):
        self._clock = clock
        self.name, self.accuracy, self.kernel, self._task, self._run = name, accuracy, kernel, task, run
        self.channels_last = name.endswith("channels_last")
        self.times, self.failure, self.error, self.largest_error = [], None, None, None
        self._on_cpu = task.device == "cpu"

    def check(self, expected):
        """Compares the first set's result with what is expected."""
        try:
            self.error, self.largest_error = self._task.errors(self._run(0), expected)
            if self.error > TOLERANCE[self.accuracy] + TOLERANCE_A_ROOT_OF_TERMS * math.sqrt(self._task.terms):
                raise c_library.Error(f"relative error {self.error:.1e}")
        except (c_library.Error, RuntimeError) as failure:
            self.failure = str(failure).splitlines()[0]

    def prepare(self):
        try:
            self._record()
        except (c_library.Error, RuntimeError) as failure:
            self.failure = str(failure).splitlines()[0]

    def _record(self):
        """GPU: a graph of enough runs to hide what surrounds it. CPU: single runs."""
        sets = len(self._task.sets)
        if self._task.device == "cpu":
            self._repeat, self._count = lambda: self._run(0), 1
            self._run(0)
            return
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._run(0)
            once = _gpu_seconds(lambda: self._run(0))
        self._count = max(1, min(1000, int(REPEAT_SECONDS / max(once, 1e-7))))
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=stream):
            for i in range(self._count):
                self._run(i % sets)
        self._repeat = self._graph.replay
        self._repeat()

    def time_once(self):
        clock = self._clock or (_gpu_seconds if self._task.device == "cuda" else _cpu_seconds)
        self.times.append(clock(self._repeat) / self._count * 1e3)

    def release(self):
        """Frees the tensors; the times stay."""
        self._task = self._run = self._repeat = self._graph = None

    @property
    def ms(self):
        """GPU: the median. CPU: the minimum, since other programs only ever add."""
        if not self.times:
            return math.nan
        return (min if self._on_cpu else statistics.median)(self.times)


def _gpu_seconds(function):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    function()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e-3


def _cpu_seconds(function):
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    function()
    return clock() - start


def memory_format(rank, channels_last):
    if not channels_last:
        return torch.contiguous_format
    return torch.channels_last_3d if rank == 3 else torch.channels_last


def in_layout(task, channels_last):
    """The task's tensors. Of rank 1 PyTorch has no channels_last."""
    if not channels_last:
        return task.sets
    to = lambda t: t.contiguous(memory_format=memory_format(task.problem.rank, True))
    return [{name: to(t) for name, t in tensors.items()} for tensors in task.sets]


def ours(library, task, precision, packed_weights, channels_last=False, measured=False):
    sets, element_type = in_layout(task, channels_last), task.element_type
    in_memory = dict(memory_format=memory_format(task.problem.rank, channels_last))
    results = [torch.full(task.result_shape, math.nan, device=task.device, dtype=task.dtype).contiguous(**in_memory)
               for _ in task.sets]
    result_name = {"forward": "output"}.get(task.operation, task.operation)

    def addresses_of(i):
        return {**{name: tensor.data_ptr() for name, tensor in sets[i].items()}, result_name: results[i].data_ptr()}

    def take_result(i):
        """On a CPU the first, which is checked, is of NaNs; later ones are new, in memory freed just before, as PyTorch's are."""
        if results[i] is None:
            results[i] = torch.empty(task.result_shape, dtype=task.dtype, **in_memory)
        result = results[i]
        addresses = addresses_of(i)
        if task.device == "cpu":
            results[i] = None
        return result, addresses

    options = dict(operation=task.operation, device=task.device, precision=precision, element_type=element_type,
                   layout="channels_last" if channels_last else "channels_first")
    if measured:
        torch.cuda.synchronize()
        options["kernel"] = library.fastest_kernel(task.problem, addresses_of(0), **options)
        results[0].fill_(math.nan)
    plan = library.plan(task.problem, **options)
    workspace = torch.empty(plan.workspace_bytes, dtype=torch.uint8, device=task.device)
    packed = [torch.empty(plan.packed_weight_bytes, dtype=torch.uint8, device=task.device) for _ in task.sets]
    if packed_weights and plan.packed_weight_bytes:
        for tensors, weight in zip(sets, packed):
            plan.pack_weight(tensors["weight"].data_ptr(), weight.data_ptr())

    def run(i):
        result, addresses = take_result(i)
        if packed_weights and plan.packed_weight_bytes:
            addresses["packed_weight"] = packed[i].data_ptr()
        stream = torch.cuda.current_stream().cuda_stream if task.device == "cuda" else None
        plan.run(workspace.data_ptr(), stream, **addresses)
        return result

    name = precision if element_type == "float32" else element_type
    return Contender(f"ours {name}{' measured' * measured}{' channels_last' * channels_last}", name, task, run, plan.kernel)


def pytorch(task, tf32=False, channels_last=False):
    sets = task.sets
    if channels_last:
        last = torch.channels_last if task.problem.rank == 2 else torch.channels_last_3d
        sets = [{k: t.contiguous(memory_format=last) for k, t in s.items()} for s in task.sets]

    def run(i):
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
        return task.pytorch(sets[i])

    if task.element_type != "float32":
        name, accuracy = "PyTorch", task.element_type
    else:
        name = "PyTorch" + (" TF32" if tf32 else " FP32" if task.device == "cuda" else "")
        accuracy = "tf32" if tf32 else "float32"
    return Contender(name + " channels_last" * channels_last, accuracy, task, run)


def onednn(task):
    """The oneDNN primitive that PyTorch runs on the CPU, by oneDNN's own clock: tensors are in its blocked layout already."""
    mkldnn = torch.backends.mkldnn
    if not mkldnn.is_available():
        return None

    def seconds(function):
        sys.stdout.flush()
        with tempfile.TemporaryFile("w+") as log:
            stdout = os.dup(1)
            os.dup2(log.fileno(), 1)
            try:
                with mkldnn.verbose(mkldnn.VERBOSE_ON):
                    function()
                ctypes.CDLL(None).fflush(None)
            finally:
                os.dup2(stdout, 1)
                os.close(stdout)
            log.seek(0)
            times = re.findall(r",exec,cpu,(?:de)?convolution,.*,([0-9.]+)$", log.read(), re.MULTILINE)
        return sum(map(float, times)) * 1e-3 or math.nan

    return Contender("oneDNN, its layout", "float32", task, lambda i: task.pytorch(task.sets[i]), clock=seconds)


def onnx_runtime(task):
    """None where it is not installed or has no such operator."""
    try:
        import numpy
        import onnx
        import onnxruntime
    except ImportError:
        return None
    if task.operation != "forward":
        return None
    p = task.problem
    stride, padding, output_padding, dilation = task.attributes
    value = lambda name, shape: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    node = onnx.helper.make_node(
        "ConvTranspose", ["x", "w"], ["y"], strides=stride, dilations=dilation, group=p.groups, pads=padding + padding,
        output_padding=output_padding, kernel_shape=p.values("kernel"))
    weight = onnx.numpy_helper.from_array(task.sets[0]["weight"].numpy(), "w")
    graph = onnx.helper.make_graph([node], "g", [value("x", task.input_shape)], [value("y", task.output_shape)],
                                   [weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    result = torch.empty(task.output_shape)
    for bind, name, tensor in ((binding.bind_input, "x", task.sets[0]["input"]), (binding.bind_output, "y", result)):
        bind(name, "cpu", 0, numpy.float32, tuple(tensor.shape), tensor.data_ptr())

    def run(_):
        session.run_with_iobinding(binding)
        return result

    return Contender("ONNX Runtime", "float32", task, run)


def contenders(library, task, precisions, arguments):
    all_of_them = []
    is_float32 = task.element_type == "float32"
    layouts = (False,) if arguments.no_channels_last or task.problem.rank == 1 else (False, True)
    our_layouts = layouts if not is_float32 or arguments.ours_channels_last else (False,)
    choices = (False, True) if arguments.measured and task.device == "cuda" else (False,)
    for precision, channels_last, measured in itertools.product(precisions if is_float32 else precisions[:1], our_layouts, choices):
        try:
            all_of_them.append(ours(library, task, precision, arguments.packed_weights, channels_last, measured))
        except c_library.Error as refusal:
            print(f"ours {precision}{' channels_last' * channels_last}: {refusal}", file=sys.stderr)
    for tf32 in (False, True) if task.device == "cuda" and is_float32 else (False,):
        all_of_them += [pytorch(task, tf32, channels_last) for channels_last in layouts]
    if task.device == "cpu" and is_float32:
        all_of_them += [contender for contender in (onednn(task), onnx_runtime(task)) if contender]
    return all_of_them


def compare(task, library, precisions, arguments):
    expected = task.expected()
    field = contenders(library, task, precisions, arguments)
    for contender in field:
        contender.check(expected)
    if not arguments.errors:
        time_in_turn([contender for contender in field if not contender.failure], arguments.rounds)
    return field


def time_in_turn(field, rounds):
    for contender in field:
        contender.prepare()
    for _ in range(rounds):
        for contender in field:
            if not contender.failure:
                contender.time_once()


def table(rows):
    """One line for each problem and precision of ours; beside each peer's time its ratio to ours."""
    peers = list(dict.fromkeys(c.name for row in rows for c in row["field"] if not c.name.startswith("ours")))
    lines = [f"| problem | precision | kernel | ms | TF/s | GB/s | {' | '.join(peers)} |",
             "|---" * (6 + len(peers)) + "|"]
    for row in rows:
        by_name = {c.name: c for c in row["field"]}
        for mine in (c for c in row["field"] if c.name.startswith("ours")):
            cells = [row["name"] or row["problem"], mine.name.removeprefix("ours "), f"`{mine.kernel}`"]
            if mine.failure:
                cells += [mine.failure, "", ""]
            else:
                cells += [f"{mine.ms:.4g}", f"{row['flops'] / mine.ms * 1e-9:.3g}",
                          f"{row['bytes'] / mine.ms * 1e-6:.3g}"]
            for peer in peers:
                other = by_name.get(peer)
                measured = other and not other.failure
                cells.append(f"{other.ms:.4g} ({other.ms / mine.ms:.2f}x)" if measured else "–")
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def error_table(rows):
    """One line for each problem and precision of ours: relative l2 error and largest error, over PyTorch's in brackets."""
    lines = ["| problem | precision | kernel | l2 | largest | PyTorch's l2 | largest |", "|---" * 7 + "|"]
    for row in rows:
        peers = [c for c in row["field"] if c.name.startswith("PyTorch") and not c.failure]
        for mine in (c for c in row["field"] if c.name.startswith("ours") and not c.failure):
            accuracy = {"tf32x3": "float32"}.get(mine.accuracy, mine.accuracy)
            peer = next((c for c in peers if c.accuracy == accuracy and c.channels_last == mine.channels_last), None)
            if peer:
                lines.append(f"| {row['name'] or row['problem']} | {mine.name.removeprefix('ours ')} | `{mine.kernel}` | "
                             f"{mine.error:.2e} ({mine.error / peer.error:.2f}) | "
                             f"{mine.largest_error:.2e} ({mine.largest_error / peer.largest_error:.2f}) | "
                             f"{peer.error:.2e} | {peer.largest_error:.2e} |")
    return "\n".join(lines)


def as_json(rows, library, device):
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    contender = lambda c: {"name": c.name, "kernel": c.kernel, "ms": c.ms, "ms_min": min(c.times, default=math.nan),
                           "relative_error": c.error, "largest_error": c.largest_error, "failure": c.failure}
    return {"device": name, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "pytorch": torch.__version__, "version": library.version(),
            "problems": [{**row, "field": [contender(c) for c in row["field"]]} for row in rows]}


def keep_freed_pages():
    """glibc: big blocks stay with the process when freed. Otherwise PyTorch's new outputs cost page faults that an
    application with a caching allocator does not have, and the comparison would flatter us."""
    m_trim_threshold, m_mmap_max = -1, -4
    libc = ctypes.CDLL(None)
    libc.mallopt(m_mmap_max, 0)
    libc.mallopt(m_trim_threshold, 2**31 - 1)


def main():
    arguments = parse_arguments()
    library = c_library.Library(arguments.library)
    library.set_cpu_threads(arguments.threads)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    keep_freed_pages()
    torch.backends.cudnn.benchmark = True
    torch.set_grad_enabled(False)
    print_rows = error_table if arguments.errors else table
    precisions = arguments.precision or (c_library.PRECISIONS if arguments.device == "cuda" else ("float32",))
    rows = []
    for name, text in read_problems(arguments):
        task = Task(library.problem(text), arguments.operation, arguments.device, arguments.format)
        field = compare(task, library, precisions, arguments)
        rows.append({"name": name, "problem": text, "operation": arguments.operation, "flops": task.flops,
                     "bytes": task.bytes, "field": field})
        print(*print_rows(rows[-1:]).splitlines()[0 if len(rows) == 1 else 2:], sep="\n", flush=True)
        for contender in field:
            if contender.failure:
                print(f"{contender.name} {contender.kernel}: {contender.failure}", file=sys.stderr)
            contender.release()
        del task
        if arguments.json:  # at once and whole: a run that is cut off leaves what it has
            with open(arguments.json + ".part", "w") as file:
                json.dump(as_json(rows, library, arguments.device), file, indent=1)
            os.replace(file.name, arguments.json)
    if arguments.markdown:
        with open(arguments.markdown, "w") as file:
            file.write(print_rows(rows) + "\n")


if __name__ == "__main__":
    main()
