"""Tables of what was measured."""

from measure import added, best, median, most, ratio


def number(value, digits=1):
    if value is None:
        return "-"
    return f"{value:,.{digits}f}" if abs(value) < 1000 else f"{value:,.0f}"


def with_best(samples, row, metric, digits=1, scale=1):
    middle, top = median(samples, row, metric), best(samples, row, metric)
    return "-" if middle is None else f"{number(middle / scale, digits)} ({number(top / scale, digits)})"


def times(value):
    return "-" if value is None else f"{value:.2f} x"


# Title of a column, and its text for (samples, row).
P50 = ("p50 µs (best)", lambda s, r: with_best(s, r, "p50_us"))
ADDED = ("added µs (best)", lambda s, r: "-" if r == "direct" else
         f"{number(added(s, r))} ({number(added(s, r, best))})")
P90 = ("p90 µs", lambda s, r: number(median(s, r, "p90_us")))
P99 = ("p99 µs", lambda s, r: number(median(s, r, "p99_us")))
RATE = ("messages/s (best)", lambda s, r: with_best(s, r, "messages_per_s", 0))
RATE_DIRECT = ("of direct", lambda s, r: times(ratio(s, r, "direct", "messages_per_s")))
RATE_HAPROXY = ("of haproxy", lambda s, r: times(ratio(s, r, "haproxy", "messages_per_s")))
BYTES = ("MB/s (best)", lambda s, r: with_best(s, r, "mb_per_s", 0))
CPU = ("CPU µs/message (best)", lambda s, r: with_best(s, r, "cpu_us_per_message"))
CPU_HAPROXY = ("of haproxy", lambda s, r: times(ratio(s, r, "haproxy", "cpu_us_per_message")))
PEAK = ("RSS above idle, KiB", lambda s, r: number(most(s, r, "peak_above_idle") / 1024, 0)
        if most(s, r, "peak_above_idle") is not None else "-")
EACH = ("bytes a session", lambda s, r: number(most(s, r, "bytes_per_session"), 0))
IDLE = ("CPU idle, % of a core", lambda s, r: number(median(s, r, "idle_cpu_percent"), 3))

SMALL = [P50, ADDED, P90, P99, RATE, CPU, CPU_HAPROXY]
BULK = [P50, BYTES, RATE_DIRECT, RATE_HAPROXY, CPU, CPU_HAPROXY]
LARGE = [*BULK[:4], PEAK]
MANY = [P50, RATE, RATE_DIRECT, RATE_HAPROXY, CPU, CPU_HAPROXY]
QUIET = [EACH, IDLE, P50, CPU]


def table(title, columns, samples):
    """Text: a line for each row of the samples."""
    lines = [["", *(name for name, _ in columns)]]
    lines += [[row, *(text(samples, row) for _, text in columns)] for row in samples]
    widths = [max(map(len, column)) for column in zip(*lines)]
    out = [title]
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
        out.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join(out)
