"""A task whose variables are references in every shape that debugpy shows them in; it stops at its breakpoint."""

import collections
import dataclasses
import os
import types

import numpy
import ray

ray.init(address=os.environ.get("RAY_ADDRESS", "127.0.0.1:6379"), _node_ip_address="127.0.0.1", log_to_driver=False)


@ray.remote(num_cpus=0)
class H:
    def f(self):
        return 1


@dataclasses.dataclass
class Holder:
    ref: object


Point = collections.namedtuple("Point", "x y")


class Sub(list):
    pass


@ray.remote(num_cpus=0)
def f(handle, named):
    ref = ray.put(numpy.zeros(1 << 20, "u1"))
    small = ray.put(b"x")
    refs = [ray.put(i) for i in range(3)]
    seventy = [ray.put(i) for i in range(70)]
    rows = [[ray.put(i) for i in range(25)], [ref]]
    deep = {"a": {"b": {"c": [ref]}, "d": ref}}
    one_tuple = (ref,)
    pair = (ref, small)
    by_name = {"it's": ref, 'say "hi"': small, "both ' and \"": ref, "é\n\t\\": ref, 7: small}
    by_ref = {ref: "big", small: "small"}
    a_set = {ref, small}
    frozen = frozenset({ref})
    queue = collections.deque([ref, small], maxlen=5)
    default = collections.defaultdict(list, {"a": [ref, small]})
    default_long = collections.defaultdict(list, {i: [ref] for i in range(70)})
    defaults = [default, collections.defaultdict(list, {"b": [small] * 4}), ref]
    ordered = collections.OrderedDict([("a", ref), ("b", small)])
    seventy_ordered = collections.OrderedDict((i, ref) for i in range(70))
    values = {"a": ref, "b": small}.values()
    many_values = {i: ref for i in range(1000)}.values()
    items = {"a": ref, "b": small}.items()
    proxy = types.MappingProxyType({"a": ref})
    subclass = Sub([ref])
    point = Point(ref, small)
    points = [point, ref]
    holder = Holder(ref)
    holders = [holder, ref, object(), int, Ellipsis, numpy.zeros(3), 1.5, None, b"it's", {}, [], (), set()]
    text = str(ref)
    texts = [str(ref), f'"{ref}"', f"[{ref}, '{ref}']"]
    cut_texts = ["it" + "'s long" + "x" * 200 + f" {ref}", ref]
    cut_ends = ["y" * 200 + "it's", ref, "z" * 100 + f"\"' {ref}, " + "z" * 100, ref]
    recursive = [ref]
    recursive.append(recursive)
    look_alike = types.SimpleNamespace(ref=ref)
    generator = many.options(num_returns="streaming").remote()
    array = numpy.zeros(3)
    actors = [handle, named, ref]
    nil = ray.ObjectRef(b"\xff" * 28)
    breakpoint()
    return 1


@ray.remote(num_cpus=0)
def many():
    yield 1


handle = H.remote()
named = H.options(name='the "named" one').remote()
ray.get(f.remote(handle, named))
