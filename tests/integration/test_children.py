"""Child sessions on a real Ray: a session of its own for each paused task of two nodes."""

from cluster import ADDRESS, wait_for
from parent_editor import Editor

NAMES = {"square": "square", "on_b": "on_b", "actor": "Trainer.step"}


def what(child):
    """What the driver calls the child's task."""
    return next(name for name, task in NAMES.items() if f" {task} " in child.name)


def test_a_session_for_each_task(cluster, run_relay):
    driver = cluster.driver("pauses.py", *NAMES)
    cluster.wait_paused(3)
    relay = run_relay(cluster, "--address", ADDRESS)
    editor = Editor(relay).attach(maxSessions=2)
    children = {what(child): child for child in editor.wait_children(2)}
    waiting = (set(NAMES) - set(children)).pop()
    assert NAMES[waiting] in editor.said("more paused task")
    left, child = children.popitem()
    child.client.disconnect(onDisconnect="continue")
    assert driver.result(left)
    third = editor.wait_children(3)[2]
    assert what(third) == waiting
    children[waiting] = third
    assert all(child.name.startswith("bob " if what(child) == "actor" else "pid ") for child in editor.asked)
    # Each is a session of its own: one steps, the other stays.
    threads = {name: child.client.ok("threads")["threads"][0]["id"] for name, child in children.items()}
    lines = {name: child.client.stack(threads[name])[0]["line"] for name, child in children.items()}
    mover, rest = children
    children[mover].client.step("next", threads[mover])
    assert children[mover].client.stack(threads[mover])[0]["line"] != lines[mover]
    assert children[rest].client.stack(threads[rest])[0]["line"] == lines[rest]
    # The parent's end is the children's end, and their tasks stay where they are.
    editor.client.disconnect()
    for child in children.values():
        child.client.wait_event("terminated")
        child.client.disconnect()
        child.client.wait_end()
    held = {pause["task_name"]: pause for pause in relay.pauses() if pause["state"] == "held"}
    assert set(held) == {NAMES[name] for name in children} and not any(pause["clients"] for pause in held.values())
    for name in children:
        assert cluster.raydbg("release", NAMES[name], "--relay", "%s:%d" % relay.address,
                              env={"XDG_STATE_HOME": str(relay.state / "s")}).returncode == 0
        assert driver.result(name)
    wait_for(lambda: not [pause for pause in relay.pauses() if pause["state"] == "held"], "nothing is held")
