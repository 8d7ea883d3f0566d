"""Makes a fleet of 206 traces from the shared ones: ten models, ten builds, two repeats, and six bad files.

    python3 tests/fleet/corpus.py SHARED OUT

Every kernel takes 0.9 of its time, with 1 % of noise that belongs to the build, the repeat and the kernel's name;
those of GEMMs take 6 % longer from build b07 on. Each build is a day later than the one before. Files are named
bNN__MODEL__rN.json.gz. The same arguments make the same bytes.
"""

import gzip
import hashlib
import io
import json
import re
import sys
from pathlib import Path

MODELS = [
    "h100_bert", "h100_qwen", "h100_timesformer", "mi210_gpu_only", "mi300_normalization",
    "mi300_qwen", "mi300_timesformer", "mi300_vit", "torch_compile_triton", "mi300_resnet_training",
]
BUILDS = 10
REPEATS = 2
DAY_NS = 86_400_000_000_000
FIRST_NS = 1_767_225_600_000_000_000  # 2026-01-01
SLOWER_FROM = 7
SLOWER = 1.06
GEMM = re.compile(r"gemm|Cijk_|nvjet|cutlass_.*_(s|h|bf16)\d*gemm|xmma_", re.IGNORECASE)


def noise(*of):
    """A number between -1 and 1, the same for the same texts."""
    digest = hashlib.sha256("/".join(map(str, of)).encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**31 - 1


def packed(trace):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as file:
        file.write(json.dumps(trace, separators=(",", ":")).encode())
    return out.getvalue()


def variants(shared, out):
    for model in MODELS:
        trace = json.loads(gzip.open(shared / "traces" / f"{model}.json.gz").read())
        kernels = [
            (event, float(event["dur"]), event["name"])
            for event in trace["traceEvents"]
            if event.get("cat") == "kernel" and "dur" in event
        ]
        for build in range(BUILDS):
            for repeat in range(REPEATS):
                of_build = 1 + 0.004 * noise(model, build, repeat)
                factors = {}
                for event, dur, name in kernels:
                    if name not in factors:
                        slower = SLOWER if build >= SLOWER_FROM and GEMM.search(name) else 1
                        own = 1 + 0.006 * noise(model, build, repeat, name)
                        factors[name] = 0.9 * of_build * own * slower
                    event["dur"] = round(dur * factors[name], 3)
                trace["baseTimeNanoseconds"] = str(FIRST_NS + build * DAY_NS + repeat * 3_600_000_000_000)
                trace["trace_id"] = f"{model}-{build}-{repeat}"
                name = f"b{build:02}__{model.replace('_', '-')}__r{repeat}.json.gz"
                (out / name).write_bytes(packed(trace))


def bad(shared, out):
    whole = (out / "b00__h100-bert__r0.json.gz").read_bytes()
    folder = out / "bad"
    folder.mkdir(exist_ok=True)
    files = {
        "empty.json": b"",
        "page.json": b"<!DOCTYPE html><html><body>Please log in</body></html>",
        "config.json": json.dumps({"hidden_size": 768, "layers": 12}).encode(),
        "broken.json.gz": whole[:12],
        "log.json": b"2026-01-01 12:00:00 INFO starting\n" * 20,
        "cut.json.gz": whole[: len(whole) // 2],
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)


def main():
    shared, out = map(Path, sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    variants(shared, out)
    bad(shared, out)


if __name__ == "__main__":
    main()
