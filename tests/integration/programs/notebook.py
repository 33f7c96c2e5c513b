"""Runs a notebook in a real Jupyter kernel: raydbg_bridge.init() with the breakpoints that are given, then a task, the driver, a task.

    notebook.py FILE:LINE...

Prints what the cells print: `RESULT …` lines, and `ERROR …` for what a second raydbg_bridge.init() says.
"""

import sys

import nbclient
import nbformat

CELLS = """
import raydbg_bridge, ray, unedited, os
path = {"PYTHONPATH": os.environ["PYTHONPATH"]}
raydbg_bridge.init("127.0.0.1:6379", breakpoints=BREAKPOINTS, _node_ip_address="127.0.0.1", runtime_env={
    "env_vars": {**path, "OWN_VARIABLE": "own"}, "worker_process_setup_hook": unedited.own_hook})
try:
    raydbg_bridge.init()
except RuntimeError as error:
    print("ERROR", error)

print("RESULT task", *ray.get(unedited.task.remote(1)))

print("RESULT driver", *unedited.in_driver(2))

ray.shutdown()
raydbg_bridge.prepare(BREAKPOINTS)
ray.init("127.0.0.1:6379", _node_ip_address="127.0.0.1", runtime_env={
    "env_vars": {**path, "OWN_VARIABLE": "b", "OWN_HOOK": "-"}})
print("RESULT task", *ray.get(unedited.task.remote(3)))
""".replace("BREAKPOINTS", repr(sys.argv[1:]))

notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS.split("\n\n")])
nbclient.NotebookClient(notebook, timeout=300, startup_timeout=120).execute()
for cell in notebook.cells:
    for output in cell.outputs:
        print(output.get("text", ""), end="", flush=True)
