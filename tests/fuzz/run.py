#!/usr/bin/env python3
"""Runs the fuzzers, two side by side, each for some seconds; ends with one line, and exit code 1 on a finding.

A fuzzer NAME starts from seeds/NAME (a seed a line, with Python's escapes) and from what the unit tests have of real
peers, with dictionaries/ where that helps."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "unit" / "data"

# A fuzzer's own first byte, and the recorded answers that it is put in front of.
RECORDED = {
    "annotate": [b"", "debugpy-1.8.22-[ces]*.json"],
    "dashboard_parse": [b"", "dashboard-*"],
    "envelope": [b"", "debugpy-1.8.22-[ces]*.json"],
    "gcs_reply": [b"", "ray-*.bin"],
    "id_rewrite": [b"", "debugpy-1.8.22-[ces]*.json"],
    "object_reply": [b"\3", "ray-*-[os]*.bin"],
    "why_text": [b"", "ray-*-why-*.err"],
}
DICTIONARIES = {
    "annotate": "json",
    "attach_arguments": "json",
    "dashboard_parse": "json",
    "envelope": "dap",
    "frame": "dap",
    "http_reply": "http",
    "hub_snapshot": "json",
    "id_rewrite": "dap",
    "listener": "http",
    "object_json": "json",
    "pause_json": "json",
    "registration": "json",
    "verb": "verb",
}


def seeds_of(name):
    path = HERE / "seeds" / name
    for line in path.read_bytes().splitlines() if path.exists() else []:
        yield line.decode("ascii").encode("latin-1").decode("unicode_escape").encode("latin-1")
    prefix, pattern = RECORDED.get(name, [b"", None])
    for file in sorted(DATA.glob(pattern)) if pattern else []:
        yield prefix + file.read_bytes()


def run(binary, seconds, findings):
    """The inputs that were tried, and what the fuzzer said if it found something."""
    name = binary.name.removeprefix("fuzz_")
    with tempfile.TemporaryDirectory(prefix=f"fuzz-{name}-") as corpus:
        count = 0
        for count, seed in enumerate(seeds_of(name), 1):
            (pathlib.Path(corpus) / f"seed-{count}").write_bytes(seed)
        if not count:
            return 0, f"{name} has no seeds"
        command = [
            binary, corpus, f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=1024", "-print_final_stats=1",
            "-verbosity=1", f"-artifact_prefix={findings}/{name}-", "-close_fd_mask=0", "-reload=0",
        ]  # fmt: skip
        if name in DICTIONARIES:
            command.append(f"-dict={HERE / 'dictionaries' / DICTIONARIES[name]}")
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | {"UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"},
        )  # fmt: skip
    said = ran.stdout.decode(errors="replace")
    tried = re.search(r"stat::number_of_executed_units: (\d+)", said)
    problem = None
    if ran.returncode:
        problem = re.sub(r"(?m)^(#\d+\s+(REDUCE|NEW|pulse|RELOAD|INITED|DONE|INFO).*|\s+NEW_FUNC.*)\n", "", said)
    return int(tried[1]) if tried else 0, problem


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build-fuzz", help="the build directory (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=20, help="for each fuzzer (default: %(default)s)")
    parser.add_argument("--findings", default="artifacts/fuzz", help="where inputs go (default: %(default)s)")
    parser.add_argument("name", nargs="*", help="only these")
    options = parser.parse_args()
    directory = pathlib.Path(options.build).resolve() / "tests" / "fuzz"
    names = options.name or sorted(source.stem.removeprefix("fuzz_") for source in HERE.glob("fuzz_*.c"))
    findings = pathlib.Path(options.findings).resolve()
    findings.mkdir(parents=True, exist_ok=True)
    total, found = 0, []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = {name: pool.submit(run, directory / f"fuzz_{name}", options.seconds, findings) for name in names}
        for name, ran in runs.items():
            tried, problem = ran.result()
            total += tried
            print(f"{name:18}{tried:>10} inputs{'  FOUND SOMETHING' if problem else ''}", flush=True)
            if problem:
                found.append(name)
                print("\n".join(problem.splitlines()[-80:]), flush=True)
    result = f"found something: {', '.join(found)} (inputs in {findings})" if found else "nothing found"
    print(f"{len(names)} fuzzers, {options.seconds} s each, {total:,} inputs: {result}")
    return 1 if found else 0


sys.exit(main())
