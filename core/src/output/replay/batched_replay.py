#!/usr/bin/env python3
"""Runs the operations of a package of reproducers and says how fast they are.

Needs Python 3.8 and PyTorch, nothing else. README.md beside this file says how to read the output.
Nothing from the JSON is ever evaluated: names are looked up among PyTorch's registered operators.
"""

import argparse
import importlib
import json
import math
import os
import re
import sys
import time
import zipfile

try:
    import torch
except ImportError:
    sys.exit("batched_replay.py needs PyTorch: pip install torch")

IR_NAME = "replay_ir.json"

# Element types as the profiler writes them (C++ names), by PyTorch's Python names.
DTYPES = {
    "double": "float64",
    "float": "float32",
    "c10::half": "float16",
    "c10::bfloat16": "bfloat16",
    "c10::float8_e4m3fn": "float8_e4m3fn",
    "c10::float8_e4m3fnuz": "float8_e4m3fnuz",
    "c10::float8_e5m2": "float8_e5m2",
    "c10::float8_e5m2fnuz": "float8_e5m2fnuz",
    "c10::float8_e8m0fnu": "float8_e8m0fnu",
    "c10::float4_e2m1fn_x2": "float4_e2m1fn_x2",
    "c10::complex<c10::half>": "complex32",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "long int": "int64",
    "long": "int64",
    "long long": "int64",
    "int": "int32",
    "short int": "int16",
    "short": "int16",
    "signed char": "int8",
    "char": "int8",
    "unsigned char": "uint8",
    "unsigned short": "uint16",
    "unsigned int": "uint32",
    "unsigned long": "uint64",
    "bool": "bool",
}

# Element types by PyTorch's number of them, as dtype arguments are recorded.
DTYPE_CODES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32",
    7: "float64", 8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16",
    23: "float8_e5m2", 24: "float8_e4m3fn", 25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz",
    27: "uint16", 28: "uint32", 29: "uint64",
}
MEMORY_FORMATS = {
    0: "contiguous_format", 1: "preserve_format", 2: "channels_last", 3: "channels_last_3d",
}


class Skip(Exception):
    """The operation cannot be run here; the message says why."""


def dtype_named(name):
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise Skip(f"this PyTorch has no element type {name}")
    return dtype


def recorded_dtype(name):
    known = DTYPES.get(str(name).lower())
    if known is None:
        raise Skip(f"unknown element type {printable(name)}")
    return dtype_named(known)


def printable(text, width=0):
    """Text of a trace, without what could move the terminal's cursor."""
    text = "".join(letter if letter.isprintable() else "?" for letter in str(text))
    if width and len(text) > width:
        text = text[: width - 1] + "…"
    return text


# --- Signatures ---------------------------------------------------------------------------------


def overloads_of(op_name):
    """The registered overloads of an operator."""
    match = re.fullmatch(r"(\w+)::(\w+)", op_name)
    if not match:
        raise Skip("no operator that can be called by its name")
    packet = getattr(getattr(torch.ops, match[1]), match[2], None)
    if packet is None:
        hint = "" if match[1] == "aten" else "; load what registers it with --import MODULE"
        raise Skip(f"this PyTorch knows no operator {op_name}{hint}")
    return {name: getattr(packet, name) for name in packet.overloads()}


def base_type(argument):
    """'Tensor', 'int', 'List[Tensor]', … without the mark of what is optional."""
    text = str(argument.type)
    match = re.fullmatch(r"Optional\[(.*)\]", text)
    return (match[1], True) if match else (text, False)


def value_fits(argument, given):
    """Whether a recorded argument can be what a signature asks for."""
    wanted, optional = base_type(argument)
    value, seems = given["value"], given["arg_type"]
    if value is None:
        # None stands for a tensor that is not defined, too.
        return optional or argument.has_default_value() or wanted == "Tensor"
    if isinstance(value, dict):
        return wanted == "Tensor"
    if isinstance(value, list):
        if not value:
            return wanted.startswith("List[") and ("Tensor" in wanted) == ("Tensor" in seems)
        if any(isinstance(item, dict) for item in value):
            return wanted.startswith("List[") and "Tensor" in wanted
        return wanted.startswith("List[") and "Tensor" not in wanted
    if isinstance(value, bool):
        return wanted in ("bool", "number", "Scalar")
    if isinstance(value, int):
        return wanted in ("int", "SymInt", "float", "number", "Scalar", "ScalarType", "Layout", "MemoryFormat")
    if isinstance(value, float):
        return wanted in ("float", "number", "Scalar")
    return wanted == "str" or seems in ("float", "Scalar")


def resolve(entry):
    """The overload to call, with its arguments in order: (callable, [(argument, given)])."""
    known = overloads_of(entry["op_name"])
    ir = entry["replay_ir"]
    given = ir["list_pos_args"] + ir["list_kwargs"]
    overload = entry.get("overload")
    if overload is not None:
        chosen = known.get(overload or "default")
        if chosen is not None:
            arguments = {argument.name: argument for argument in chosen._schema.arguments}
            if all(one["arg_name"] in arguments for one in given):
                return chosen, [(arguments[one["arg_name"]], one) for one in given]
    for chosen in known.values():
        arguments = chosen._schema.arguments
        left_out, too_many = arguments[len(given):], given[len(arguments):]
        if any(not argument.has_default_value() for argument in left_out):
            continue
        if any(one["value"] is not None for one in too_many):
            continue
        pairs = list(zip(arguments, given))
        if all(value_fits(argument, one) for argument, one in pairs):
            return chosen, pairs
    raise Skip("no overload of this PyTorch takes these arguments")


def is_attention_of_gpus(entry, device):
    """Fused attention that only accelerators have: on a processor the general operator stands in."""
    fused = re.fullmatch(r"aten::_scaled_dot_product_(flash|efficient|cudnn)_attention", entry["op_name"])
    return device.type == "cpu" and fused is not None


def by_name(chosen, pairs):
    """Those of the arguments that another operator takes under the same names."""
    given = {argument.name: one for argument, one in pairs}
    wanted = [argument for argument in chosen._schema.arguments if argument.name in given]
    return chosen, [(argument, given[argument.name]) for argument in wanted]


# --- Arguments ----------------------------------------------------------------------------------


def storage_elements(shape, strides):
    """How many elements the memory of a tensor must have."""
    if any(size == 0 for size in shape):
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))


def dense_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return list(reversed(strides))


class Maker:
    """Makes the arguments of calls."""

    def __init__(self, device, override, seed):
        self.device = device
        self.override = override
        self.generator = torch.Generator(device="cpu").manual_seed(seed)

    def dtype_of(self, spec):
        dtype = recorded_dtype(spec["dtype"])
        # Indices, masks and counts stay what they are.
        if self.override is not None and dtype.is_floating_point:
            return self.override
        return dtype

    def bytes_of(self, value):
        if isinstance(value, list):
            return sum(self.bytes_of(item) for item in value)
        if not isinstance(value, dict):
            return 0
        strides = value.get("strides") or dense_strides(value["shape"])
        return storage_elements(value["shape"], strides) * self.dtype_of(value).itemsize

    def tensor(self, spec):
        shape = spec["shape"]
        strides = spec.get("strides")
        if strides is None or len(strides) != len(shape):
            strides = dense_strides(shape)
        dtype = self.dtype_of(spec)
        n = storage_elements(shape, strides)
        # The memory is filled as a whole: elements of a strided tensor may lie on one another.
        flat = self.filled(n, dtype, spec)
        return torch.as_strided(flat, shape, strides)

    def filled(self, n, dtype, spec):
        init = spec.get("init")
        device = self.device
        if init is None or n == 0:
            return torch.zeros(n, dtype=torch.uint8, device=device).to(dtype) if n else torch.empty(
                0, dtype=dtype, device=device
            )
        if init == "cumulative":
            # Where each sequence begins: all equally long.
            high = max(int(spec.get("high", 0)), 0)
            steps = torch.linspace(0, high, max(n, 1), dtype=torch.float64)
            return steps.round().to(dtype).to(device)
        if init == "group_ends":
            # Where each group ends: all equally large, and whole vectors where they can be.
            high = max(int(spec.get("high", 0)), 0)
            step = 16 if high >= 16 * n else 1
            ends = [high * (group + 1) // n // step * step for group in range(n - 1)] + [high]
            return torch.tensor(ends, dtype=torch.int64).to(dtype).to(device)
        if init == "bernoulli" or dtype == torch.bool:
            return (torch.rand(n, device=device) < 0.5).to(dtype)
        if not dtype.is_floating_point and not dtype.is_complex:
            high = max(int(spec.get("high", 8)), 1)
            if dtype.itemsize == 1:
                high = min(high, 127)
            return torch.randint(0, high, (n,), device=device, dtype=torch.int64).to(dtype)
        if dtype.is_complex:
            return torch.randn(n, device=device, dtype=torch.complex64).to(dtype)
        if dtype.itemsize == 1 and "float4" in str(dtype):
            return torch.randint(0, 256, (n,), device=device, dtype=torch.uint8).view(dtype)
        flat = torch.empty(n, device=device, dtype=dtype if dtype.itemsize > 1 else torch.float32)
        if init == "uniform":
            flat.uniform_(0.5, 1.5)
        elif init == "probability":
            flat.uniform_(0.0, 1.0)
        else:
            flat.normal_()
        return flat.to(dtype)

    def value(self, argument, given):
        wanted, _ = base_type(argument)
        value = given["value"]
        if isinstance(value, dict):
            return self.tensor(value)
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            return [None if item is None else self.tensor(item) for item in value]
        if value is None and not argument.type.isSubtypeOf(torch._C.OptionalType.ofTensor()):
            if wanted == "Device":
                return self.device
            if argument.has_default_value():
                return argument.default_value
            return None
        name = f"{given['arg_type']} {argument.real_type}" if hasattr(argument, "real_type") else given["arg_type"]
        if isinstance(value, int) and not isinstance(value, bool):
            if "ScalarType" in name:
                dtype = dtype_named(DTYPE_CODES.get(value, "?"))
                return self.override if self.override is not None and dtype.is_floating_point else dtype
            if "Layout" in name:
                return torch.strided
            if "MemoryFormat" in name:
                return getattr(torch, MEMORY_FORMATS.get(value, "preserve_format"))
        if isinstance(value, str) and wanted != "str":
            return float(value)
        if wanted == "float" and isinstance(value, int):
            return float(value)
        if wanted == "List[float]" and isinstance(value, list):
            return [float(item) for item in value]
        return value


# --- Time ---------------------------------------------------------------------------------------


class Clock:
    """Times calls on a device, each for itself, in microseconds."""

    def __init__(self, device, flush):
        self.kind = device.type
        self.accelerator = None if self.kind == "cpu" else getattr(torch, self.kind)
        self.flushed = None
        if flush:
            # More than the last-level cache of any device.
            self.flushed = torch.empty(256 << 20, dtype=torch.int8, device=device)

    def synchronize(self):
        if self.accelerator is not None:
            self.accelerator.synchronize()

    def run(self, call, warmup, repeats, seconds):
        # The first call sets things up; the second tells how long the others take.
        call()
        self.synchronize()
        start = time.perf_counter()
        call()
        self.synchronize()
        once = max(time.perf_counter() - start, 1e-9)
        affordable = max(int(seconds / once), 1)
        for _ in range(min(warmup - 2, affordable // 10)):
            call()
        self.synchronize()
        repeats = min(repeats, affordable)
        if self.accelerator is None:
            return self.on_host(call, repeats)
        return self.on_accelerator(call, repeats)

    def on_host(self, call, repeats):
        times = []
        for _ in range(repeats):
            if self.flushed is not None:
                self.flushed.zero_()
            start = time.perf_counter_ns()
            call()
            times.append((time.perf_counter_ns() - start) / 1e3)
        return times

    def on_accelerator(self, call, repeats):
        make = lambda: self.accelerator.Event(enable_timing=True)
        pairs = [(make(), make()) for _ in range(repeats)]
        # The device is kept busy at first, so that the host is ahead of it and short kernels are
        # not timed by how fast they are launched.
        if hasattr(self.accelerator, "_sleep"):
            self.accelerator._sleep(20_000_000)
        for start, end in pairs:
            if self.flushed is not None:
                self.flushed.zero_()
            start.record()
            call()
            end.record()
        self.synchronize()
        return [start.elapsed_time(end) * 1e3 for start, end in pairs]


# --- Running ------------------------------------------------------------------------------------


def shapes_of(entry):
    ir = entry["replay_ir"]
    shapes = []
    for given in ir["list_pos_args"] + ir["list_kwargs"]:
        value = given["value"]
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                kind = str(item["dtype"]).replace("c10::", "")
                shapes.append("×".join(map(str, item["shape"])) + f" {kind}")
    return ", ".join(shapes)


def run_entry(entry, maker, clock, options, free_bytes):
    chosen, pairs = resolve(entry)
    stand_in = None
    if is_attention_of_gpus(entry, maker.device):
        stand_in = "aten::scaled_dot_product_attention"
        chosen, pairs = by_name(torch.ops.aten.scaled_dot_product_attention.default, pairs)
    needed = sum(maker.bytes_of(given["value"]) for _, given in pairs)
    # Results are about as large as what they are made of.
    if free_bytes is not None and 2 * needed > free_bytes:
        raise Skip(f"needs about {2 * needed / 2**30:.1f} GiB, more than --max-gib allows")
    positional, named = [], {}
    for argument, given in pairs:
        try:
            value = maker.value(argument, given)
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise RuntimeError(f"cannot make its argument {argument.name}: {first}") from error
        if argument.kwarg_only or stand_in:
            named[argument.name] = value
        else:
            positional.append(value)

    def call():
        return chosen(*positional, **named)

    with torch.no_grad():
        times = clock.run(call, options.warmup, options.repeats, options.max_seconds)
    mean, least = sum(times) / len(times), min(times)
    result = {"mean_us": mean, "min_us": least, "overload": str(chosen), "input_bytes": needed, "timed_calls": len(times)}
    if stand_in:
        result["ran_as"] = stand_in
    work, roof = entry.get("work") or {}, entry.get("roof") or {}
    if options.dtype is None and mean > 0:
        if work.get("flops"):
            result["tflops_per_s"] = work["flops"] / mean / 1e6
        if work.get("bytes"):
            result["tb_per_s"] = work["bytes"] / mean / 1e6
        if roof.get("us"):
            result["roof_percent"] = roof["us"] / mean * 100
    return result


def load(path):
    """The entries of a JSON file or of a package."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as package:
                text = package.read(IR_NAME)
        else:
            with open(path, "rb") as file:
                text = file.read()
        entries = json.loads(text)
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"batched_replay.py: cannot read {printable(path)}: {error}")
    if not isinstance(entries, list):
        sys.exit(f"batched_replay.py: {printable(path)} is no list of operations")
    return entries


def free_memory(device):
    """What may be used of the device's memory; None where that is not known."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type == "cpu" and "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", {}):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def default_device():
    for kind in ("cuda", "xpu"):
        if hasattr(torch, kind) and getattr(torch, kind).is_available():
            return kind
    return "cpu"


def arguments():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), IR_NAME)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", nargs="?", default=beside, help=f"{IR_NAME} or the zip; default: beside this file")
    parser.add_argument("--device", default=default_device(), help="cuda (AMD too), xpu or cpu, with an index where there are several")
    parser.add_argument("--op-filter", metavar="TEXT", action="append", help="only operations whose name contains this; may be repeated")
    parser.add_argument("--op-limit", metavar="N", type=int, help="only the first N operations")
    parser.add_argument("--dtype", help="run floating-point tensors in this type instead: float32, bfloat16, …")
    parser.add_argument("--repeats", type=int, default=100, help="timed calls of each operation")
    parser.add_argument("--warmup", type=int, default=10, help="calls before them, at least 2")
    parser.add_argument("--max-seconds", type=float, default=20, help="fewer timed calls where they would take longer than this")
    parser.add_argument("--max-gib", type=float, help="skip operations that need more memory than this; default: what is free")
    parser.add_argument("--flush-cache", action="store_true", help="overwrite the caches before each call")
    parser.add_argument("--import", dest="modules", metavar="MODULE", action="append", default=[], help="import this first: it registers operators of its own")
    parser.add_argument("--seed", type=int, default=0, help="of the contents of tensors")
    parser.add_argument("--stop-on-error", action="store_true", help="stop at the first operation that fails")
    parser.add_argument("--verbose", action="store_true", help="print shapes, overloads and notes")
    parser.add_argument("--json", metavar="FILE", help="write the results here too; - is standard output")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    return options


COLUMNS = (
    ("#", 3), ("operation", 44), ("calls", 6), ("trace µs", 11), ("mean µs", 11), ("min µs", 11),
    ("TFLOPS/s", 9), ("TB/s", 7), ("% roofline", 10),
)


def number(value):
    """Three digits that count: 16413, 110.6, 0.0042."""
    if value >= 1000 or value == 0:
        return f"{value:.0f}"
    decimals = max(0, 2 - math.floor(math.log10(value)))
    return f"{value:.{min(decimals, 6)}f}"


def row(cells):
    out = []
    for (label, width), cell in zip(COLUMNS, cells):
        cell = "–" if cell is None else number(cell) if isinstance(cell, float) else str(cell)
        out.append(cell.ljust(width) if label == "operation" else cell.rjust(width))
    return "  ".join(out)


def main():
    options = arguments()
    for module in options.modules:
        importlib.import_module(module)
    try:
        device = torch.device(options.device)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        sys.exit(f"batched_replay.py: cannot use {options.device}: {str(error).splitlines()[0]}")
    override = dtype_named(options.dtype.replace("torch.", "")) if options.dtype else None
    torch.manual_seed(options.seed)
    # Numbers that fade away in repeated calls must not slow a processor down.
    torch.set_flush_denormal(True)

    entries = load(options.package)
    if options.op_filter:
        entries = [entry for entry in entries if any(text in entry["op_name"] for text in options.op_filter)]
    entries = entries[: options.op_limit]
    maker, clock = Maker(device, override, options.seed), Clock(device, options.flush_cache)
    free_bytes = options.max_gib * 2**30 if options.max_gib is not None else None
    if free_bytes is None:
        free_bytes = free_memory(device)

    out = sys.stderr if options.json == "-" else sys.stdout
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
    print(f"PyTorch {torch.__version__} on {name}, {options.repeats} calls each", file=out)
    print(row([label for label, _ in COLUMNS]), file=out)
    results, failed, skipped = [], 0, 0
    for number, entry in enumerate(entries, 1):
        label = printable(entry["op_name"], 44)
        trace = entry.get("trace") or {}
        result = {"op_name": entry["op_name"], "count": entry.get("count", 1)}
        try:
            result.update(run_entry(entry, maker, clock, options, free_bytes), status="ok")
            print(row([
                number, label, result["count"], trace.get("mean_us"), result["mean_us"], result["min_us"],
                result.get("tflops_per_s"), result.get("tb_per_s"), result.get("roof_percent"),
            ]), file=out)
            if "ran_as" in result:
                print(f"     (by {result['ran_as']}, which exists on {device.type})", file=out)
        except Skip as why:
            skipped += 1
            result.update(status="skipped", reason=str(why))
        except NotImplementedError:
            skipped += 1
            result.update(status="skipped", reason=f"this PyTorch has no implementation of it for {device.type}")
        except Exception as error:  # Whatever an operator raises, the others still run.
            failed += 1
            lines = str(error).splitlines() or [type(error).__name__]
            result.update(status="failed", reason=lines[0])
        if result["status"] != "ok":
            print(f"{number:>3}  {label.ljust(44)}  {result['status']}: {printable(result['reason'], 200)}", file=out)
        if options.verbose:
            print(f"       {shapes_of(entry)}", file=out)
            for note in entry.get("notes") or []:
                print(f"       {printable(note)}", file=out)
            if "overload" in result:
                print(f"       {result['overload']}", file=out)
        out.flush()
        results.append(result)
        if device.type == "cuda":
            torch.cuda.empty_cache()
        if options.stop_on_error and result["status"] == "failed":
            break

    done = [result for result in results if result["status"] == "ok"]
    total = math.fsum(result["count"] * result["mean_us"] for result in done)
    print(f"{len(results)} tried, {len(done)} ran, {failed} failed, {skipped} skipped; "
          f"all calls of those that ran would take {total / 1e3:.3f} ms", file=out)
    if options.json:
        text = json.dumps({"device": name, "torch": torch.__version__, "operations": results}, indent=1)
        if options.json == "-":
            print(text)
        else:
            with open(options.json, "w", encoding="utf-8") as file:
                file.write(text + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
