"""raydbg against every alternative, measured side by side in one run. tools/bench starts it."""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from measure import Failed  # noqa: E402
from relays import ROOT  # noqa: E402
from sections import SECTIONS, Settings  # noqa: E402
from targets import line, verdicts  # noqa: E402


def output_of(*argv):
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    except OSError:
        return ""
    return done.stdout.strip()


def machine():
    """What the numbers depend on."""
    models = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    socat = [line for line in output_of("socat", "-V").splitlines() if "version" in line]
    return {"time": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            "cpu": models[0] if models else platform.machine(), "cores": os.cpu_count(), "kernel": platform.release(),
            "load": round(os.getloadavg()[0], 1), "commit": output_of("git", "describe", "--always", "--dirty"),
            "haproxy": output_of("haproxy", "-v").partition("\n")[0], "socat": socat[0] if socat else ""}


def parse():
    names = "\n".join(f"  {name:10} {run.__doc__}" for name, run in SECTIONS.items())
    parser = argparse.ArgumentParser(
        prog="tools/bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures raydbg and every alternative, interleaved in one run: medians, and the best in brackets.",
        epilog=f"sections:\n{names}\n\n"
               "step, delay, pdb, list, start, portable and memory start a Ray cluster in namespaces of their own.\n"
               "docs/benchmarks.md keeps the latest results. Exit code 1: a relay has lost or changed something.")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="only these (all)")
    parser.add_argument("--quick", action="store_true", help="a look: short runs, a tenth of the sessions")
    parser.add_argument("--repetitions", type=int, help="rounds (9; quick: 2)")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME='CMD {listen} {target}'",
                        help="one more relay: a command that listens on one address and dials the other")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what is printed")
    options = parser.parse_args()
    for name in options.sections:
        if name not in SECTIONS:
            parser.error(f"no such section: {name} (there are {', '.join(SECTIONS)})")
    for peer in options.peer:
        if "=" not in peer or "{listen}" not in peer or "{target}" not in peer:
            parser.error(f"--peer needs NAME='CMD {{listen}} {{target}}': {peer}")
    return options


def main():
    options = parse()
    settings = Settings(options.quick, options.peer, options.repetitions or (2 if options.quick else 9))
    said = {"machine": machine(), "quick": options.quick, "repetitions": settings.repetitions, "sections": {}}
    talk = options.format == "text"
    if talk:
        print(", ".join(f"{key} {value}" for key, value in said["machine"].items()), flush=True)
    for name in options.sections or SECTIONS:
        try:
            result = SECTIONS[name](settings)
        except Failed as failure:
            sys.exit(f"bench: {failure}")
        said["sections"][name] = result.samples
        if talk:
            print("", "\n\n".join(result.tables), sep="\n", flush=True)
    said["targets"] = verdicts(said["sections"])
    if talk:
        print("\ntargets: the best round of each, and the median")
        for target in said["targets"]:
            print(" ", line(target))
    if options.json:
        Path(options.json).write_text(json.dumps(said, indent=1) + "\n")
    if not talk:
        json.dump(said, sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
