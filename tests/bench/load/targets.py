"""The targets, and whether what was measured reaches them. Nobody's exit code depends on it: times are of a machine.

What others on the machine do only ever adds to a time, and to one row's more than to another's: each row counts with
its best round; the median of the rounds stands behind it.
"""

from measure import added, best, median, most

KIB, MIB = 1024, 1024 * 1024
FULL, PLAIN, PROXY = "raydbg full", "raydbg transparent", "haproxy"


def at_most(what, value, middle, limit, unit, target):
    return {"what": what, "measured": value, "median": middle, "limit": limit, "unit": unit,
            "target": f"at most {target}", "holds": value <= limit}


def at_least(what, value, middle, limit, unit, target):
    return {"what": what, "measured": value, "median": middle, "limit": limit, "unit": unit,
            "target": f"at least {target}", "holds": value >= limit}


def of_haproxy(samples, row, metric):
    """The best of a row by haproxy's best; and of the medians."""
    return [pick(samples, row, metric) / pick(samples, PROXY, metric) for pick in (best, median)]


def small(section):
    for body, size in ("200", "200 B"), ("10K", "10 KB"):
        samples = section[body]
        limit = added(samples, PROXY, best)
        for row in PLAIN, FULL:
            yield at_most(f"{row}: added p50 at {size}", added(samples, row, best), added(samples, row), limit, "µs",
                          f"haproxy's {limit:.1f} µs")
            yield at_most(f"{row}: CPU per message at {size}", *of_haproxy(samples, row, "cpu_us_per_message"), 1.5,
                          "x haproxy's", "1.5 x")


def rate(what, body, rows, limit, metric="mb_per_s"):
    def check(section):
        for row in rows:
            yield at_least(f"{row}: {what}", *of_haproxy(section[body], row, metric), limit, "x haproxy's",
                           f"{limit} x")
    return check


def bulk(section):
    yield from rate("MB/s of 1 MB bodies, new each time", "new1M", (PLAIN, FULL), 1)(section)


def large(section):
    for row in PLAIN, FULL:
        above = most(section["20M"], row, "peak_above_idle") / MIB
        yield at_most(f"{row}: RSS above idle with 20 MB", above, above, 4, "MiB", "4 MiB")


def idle(section):
    samples = section["idle"]
    for row in PLAIN, FULL:
        memory = most(samples, row, "bytes_per_session") / KIB
        yield at_most(f"{row}: an idle session", memory, memory, 8, "KiB", "8 KiB")
        cpu = [pick(samples, row, "idle_cpu_percent") for pick in (best, median)]
        yield at_most(f"{row}: CPU, all sessions idle", *cpu, 1, "% of a core", "1 %")


def step(section):
    direct, tuned = section["direct"], section["tuned"]
    for row in "raydbg dap", "raydbg relay":
        ours = section[row]
        yield at_least(f"{row}: a real step", direct["best_ms"] / ours["best_ms"],
                       direct["median_ms"] / ours["median_ms"], 25, "times as fast as direct", "25 times")
        yield at_most(f"{row}: a real step", ours["best_ms"] / tuned["best_ms"], ours["median_ms"] / tuned["median_ms"],
                      1.25, "x tuned direct", "1.25 x")


def delay(section):
    trips = section["raydbg dap"]["round_trips"]
    yield at_most("raydbg dap: a real step from afar", trips * section["raydbg dap"]["best_ms"]
                  / section["raydbg dap"]["median_ms"], trips, 1.3, "round trips", "1.3")


def start(section):
    for way, name, limit in ("with a relay", "list, relay", 15), ("without a relay", "list", 25):
        yield at_most(f"raydbg list, {way}: to its first byte", section[name]["best_ms"], section[name]["median_ms"],
                      limit, "ms", f"{limit} ms")


def portable(section):
    for command in "version", "list, relay", "list":
        own, system = section[f"{command} portable"], section[command]
        for metric, what in ("ms", "to the first byte"), ("cpu_ms", "CPU"):
            yield at_most(f"portable raydbg {command}: {what}", own[f"best_{metric}"] / system[f"best_{metric}"],
                          own[f"median_{metric}"] / system[f"median_{metric}"], 1, "x the system build's", "1 x")


CHECKS = {"small": small, "bulk": bulk,
          "annotated": rate("MB/s of 1 MB of references, new each time", "newrefs1M", (FULL,), 0.5),
          "large": large,
          "busy": rate("messages/s of many busy sessions", "busy", (PLAIN, FULL), 0.8, "messages_per_s"), "idle": idle,
          "step": step, "delay": delay, "start": start, "portable": portable}


def verdicts(sections):
    """What was measured of each target, as far as its section was."""
    return [verdict for name, check in CHECKS.items() if name in sections for verdict in check(sections[name])]


def line(verdict):
    mark = "holds" if verdict["holds"] else "MISS"
    return (f"{mark:5}  {verdict['what']:60} {verdict['measured']:8.2f} {verdict['unit']}, median "
            f"{verdict['median']:.2f} ({verdict['target']})")
