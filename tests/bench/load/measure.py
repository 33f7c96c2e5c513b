"""Runs dapload against rows in turn, and says what came of it: medians, bests, and ratios within a round."""

import json
import statistics
import subprocess
import sys

from relays import programs


class Failed(Exception):
    """A relay has lost, changed or made up something, or did not work at all."""


def load(row, *options):
    """One run of dapload: its numbers."""
    argv = [str(programs() / "dapload"), "--connect", row.address, *row.options, *map(str, options)]
    for pid in row.pids:
        argv += ["--pid", str(pid)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode or not done.stdout:
        raise Failed(f"{row.name}: {' '.join(map(str, options))}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def rounds(count, rows, run, what):
    """{row: [numbers of each round]}: every row once a round, from another one on each time."""
    samples = {row.name: [] for row in rows}
    for number in range(count):
        print(f"bench: {what}, round {number + 1} of {count}", file=sys.stderr, flush=True)
        at = number % len(rows)
        for row in rows[at:] + rows[:at]:
            samples[row.name].append(run(row))
    return samples


def values(samples, row, metric):
    return [sample[metric] for sample in samples[row] if metric in sample]


def median(samples, row, metric):
    found = values(samples, row, metric)
    return statistics.median(found) if found else None


def best(samples, row, metric):
    """The lowest, of rates the highest."""
    found = values(samples, row, metric)
    return (max if metric.endswith("_per_s") else min)(found) if found else None


def most(samples, row, metric):
    """The largest: of memory, of which a later round finds some that an earlier one has left."""
    return max(values(samples, row, metric), default=None)


def added(samples, row, pick=median):
    """What a row's median answer takes longer than the direct one's."""
    both = pick(samples, row, "p50_us"), pick(samples, "direct", "p50_us")
    return None if None in both else both[0] - both[1]


def ratio(samples, row, other, metric):
    """The median of the rounds' ratios; None where one of them has no such number."""
    pairs = list(zip(values(samples, row, metric), values(samples, other, metric))) if other in samples else []
    pairs = [a / b for a, b in pairs if b]
    return statistics.median(pairs) if pairs else None
