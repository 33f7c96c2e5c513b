"""A scripted cluster of many paused tasks, as tests/bench/many has it: 200 real workers need too much memory.

    herd.py COUNT PROGRAM      every task stands in PROGRAM

Says `READY ADDRESS`, the address being the GCS's, and stays until it is ended. A task whose client has gone waits for
the next one.
"""

import selectors
import sys
import threading
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def load_bench():
    loader = SourceFileLoader("bench_many", str(ROOT / "tests/bench/many"))
    bench = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(bench)
    return bench


def main(count, program):
    bench = load_bench()

    class Debuggee(bench.Debuggee):
        def accept(self):
            super().accept()
            self.ended, self.buffer, self.line = threading.Event(), b"", 8
            self.herd.selector.register(self.listener, selectors.EVENT_READ, self.accept)

    bench.Debuggee, bench.PROGRAM = Debuggee, program
    herd = bench.Herd(count)
    herd.variables = {"variables": [
        {"name": name, "value": value, "type": kind, "evaluateName": name, "variablesReference": 0}
        for name, value, kind in (("loss", "0.5", "float"), ("step", "41", "int"), ("rate", "0.1", "float"))]}
    with bench.FakeGang() as gang:
        for debuggee in herd.all:
            gang.add("Trainer.step", adapter=debuggee)
        print(f"READY {gang.address}", flush=True)
        while True:
            time.sleep(60)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
