"""The targets, and whether what was measured reaches them. Nobody's exit code depends on it: times are of a machine."""

from measure import added, median, ratio

KIB, MIB = 1024, 1024 * 1024
FULL, PLAIN, PROXY = "raydbg full", "raydbg transparent", "haproxy"


def small(section):
    for body, size in ("200", "200 B"), ("10K", "10 KB"):
        if body not in section:
            continue
        samples = section[body]
        limit = added(samples, PROXY)
        for row in PLAIN, FULL:
            yield (f"{row}, added p50 at {size}", added(samples, row), limit, "µs", "haproxy's {limit:.1f} µs", "<=")
            yield (f"{row}, CPU per message at {size}", ratio(samples, row, PROXY, "cpu_us_per_message"), 1.5,
                   "x haproxy's", "1.5 x haproxy's", "<=")


def rate(body, size, row, limit, metric="mb_per_s"):
    def check(section):
        if body in section:
            yield (f"{row}, {size}", ratio(section[body], row, PROXY, metric), limit, "x haproxy's",
                   f"{limit} x haproxy's", ">=")
    return check


def large(section):
    for row in PLAIN, FULL:
        above = median(section["20M"], row, "peak_above_idle") / MIB
        yield f"{row}, RSS above idle with 20 MB", above, 4, "MiB", "4 MiB", "<="


def idle(section):
    for row in PLAIN, FULL:
        samples = section["idle"]
        yield f"{row}, an idle session", median(samples, row, "bytes_per_session") / KIB, 8, "KiB", "8 KiB", "<="
        yield f"{row}, CPU idle", median(samples, row, "idle_cpu_percent"), 1, "% of a core", "1 %", "<="


def step(section):
    for row in "raydbg dap", "raydbg relay":
        yield f"{row}, a real step", 1 / section[row]["of_direct"], 25, "times as fast as direct", "25 times", ">="
        yield f"{row}, a real step", section[row]["of_tuned"], 1.25, "x tuned direct", "1.25 x tuned direct", "<="


def delay(section):
    yield ("raydbg dap, a real step from 100 ms away", section["raydbg dap"]["round_trips"], 1.3, "round trips",
           "1.3 round trips", "<=")


CHECKS = {"small": [small],
          "bulk": [rate("1M", "MB/s of 1 MB bodies", row, 1) for row in (PLAIN, FULL)],
          "annotated": [rate("refs1M", "MB/s of 1 MB, annotated", FULL, 0.6)],
          "large": [large], "idle": [idle], "step": [step], "delay": [delay],
          "busy": [rate("busy", "messages/s of many busy sessions", row, 0.8, "messages_per_s")
                   for row in (PLAIN, FULL)]}


def verdicts(sections):
    """What was measured of each target, as far as its section was."""
    found = []
    for name, checks in CHECKS.items():
        for check in checks if name in sections else ():
            for what, value, limit, unit, target, order in check(sections[name]):
                if value is None or limit is None:
                    continue
                found.append({"what": what, "measured": f"{value:.2f} {unit}",
                              "target": f"{order} {target.format(limit=limit)}",
                              "holds": value <= limit if order == "<=" else value >= limit})
    return found
