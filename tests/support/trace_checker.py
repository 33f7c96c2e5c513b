"""Checks a trace against the Trace Event Format, as Google's document "Trace Event Format" has it, and against what
Perfetto's importer of it needs: numbers for pid and tid, and spans of one thread that do not cross."""

from collections import Counter, defaultdict

METADATA = {"process_name": "name", "process_labels": "labels", "process_sort_index": "sort_index", "thread_name": "name",
            "thread_sort_index": "sort_index"}
# The document's reserved names that raydbg may use.
COLOURS = {"good", "bad", "terrible", "black", "grey", "white", "yellow", "olive", "thread_state_running",
           "thread_state_runnable", "rail_response", "rail_animation", "rail_idle", "rail_load"}


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def event_faults(event):
    """What is wrong with one event by itself."""
    kind = event.get("ph")
    if kind not in ("X", "M", "i", "s", "f"):
        yield f"ph is {kind!r}"
        return
    for member in ("pid", "tid"):
        if not is_integer(event.get(member)):
            yield f"{member} is no integer"
    if not isinstance(event.get("name"), str) or not event["name"]:
        yield "no name"
    if not isinstance(event.get("args", {}), dict):
        yield "args is no object"
    if "cname" in event and event["cname"] not in COLOURS:
        yield f"cname {event['cname']!r} is not reserved"
    if kind == "M":
        member = METADATA.get(event.get("name"))
        if member is None:
            yield "unknown metadata"
        elif not isinstance(event.get("args", {}).get(member), str if member != "sort_index" else int):
            yield f"metadata without {member}"
        return
    if not is_number(event.get("ts")) or event["ts"] < 0:
        yield "no ts"
    if not isinstance(event.get("cat"), str):
        yield "no cat"
    if kind == "X" and (not is_number(event.get("dur")) or event["dur"] < 0):
        yield "no dur"
    if kind == "i" and event.get("s") not in ("g", "p", "t"):
        yield "an instant without scope"
    if kind in "sf" and "id" not in event:
        yield "a flow without id"


def crossings(spans):
    """Pairs of spans of one thread that overlap without one enclosing the other."""
    stack = []
    for span in sorted(spans, key=lambda span: (span["ts"], -span["dur"])):
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= span["ts"]:
            stack.pop()
        if stack and span["ts"] + span["dur"] > stack[-1]["ts"] + stack[-1]["dur"]:
            yield stack[-1], span
        stack.append(span)


def name_faults(events):
    """Every process and every thread has one name, and a thread has one process."""
    named = Counter((e["name"], e["pid"], e["tid"] if e["name"] == "thread_name" else None)
                    for e in events if e["ph"] == "M" and e["name"].endswith("_name"))
    for (_, *ids), count in named.items():
        if count > 1:
            yield f"{ids} is named {count} times"
    threads = defaultdict(set)
    for event in events:
        if event["ph"] == "M":
            continue
        threads[event["tid"]].add(event["pid"])
        if ("process_name", event["pid"], None) not in named:
            yield f"process {event['pid']} has no name"
        if ("thread_name", event["pid"], event["tid"]) not in named:
            yield f"thread {event['pid']}/{event['tid']} has no name"
    for tid, pids in threads.items():
        if len(pids) > 1:
            yield f"thread {tid} is in several processes: {pids}"


def flow_faults(events, lanes):
    """Each flow has a beginning and an end, in this order, each within a span of its thread."""
    flows = defaultdict(list)
    for event in events:
        if event["ph"] in "sf":
            flows[event["cat"], event["id"]].append(event)
            if not any(span["ts"] <= event["ts"] <= span["ts"] + span["dur"] for span in lanes[event["pid"], event["tid"]]):
                yield f"the flow's end {event} is in no span"
    for ends in flows.values():
        if [end["ph"] for end in ends] != ["s", "f"] or ends[0]["ts"] > ends[1]["ts"] or ends[0]["name"] != ends[1]["name"]:
            yield f"no pair of a flow: {ends}"


def faults(trace):
    """Everything that is wrong with a trace; the first faults of an event keep the other checks from it."""
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        return ["no object with traceEvents"]
    events = trace["traceEvents"]
    found = [] if trace.get("displayTimeUnit") in ("ms", "ns") else ["displayTimeUnit is neither ms nor ns"]
    found += [f"{fault}: {event}" for event in events for fault in event_faults(event)]
    if found:
        return found
    lanes = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            lanes[event["pid"], event["tid"]].append(event)
    found += name_faults(events)
    found += [f"crossing: {pair}" for spans in lanes.values() for pair in crossings(spans)]
    found += flow_faults(events, lanes)
    return found
