"""`raydbg attach` on many tasks of a real Ray: one prompt, each task a thread."""

import json
import re


def run(cluster, *commands, tasks=("--all",), code=0, **options):
    """What `raydbg attach TASKS -e COMMAND…` prints, a part for each command."""
    words = [word for command in commands for word in ("-e", command)]
    done = cluster.raydbg("attach", *tasks, "--no-relay", "--echo", *words, **options)
    print(done.stdout, done.stderr)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done


def test_try(cluster):
    driver = cluster.driver("pauses.py", "square", "on_b", "actor", "threaded")
    cluster.wait_paused(6)
    run(cluster, "threads", "n", "threads", "thread on_b", "thread bob", "n", "p rate", "threads")
    cluster.wait_paused(1)
    run(cluster, "threads", "c", "threads", "c", "threads", tasks=["Pool*"])
    assert 0
