"""Answers ahead on a real Ray: what an editor is shown after each step is what is true."""

import json

from cluster import wait_for

# Without a side effect, and as text that can be compared.
TRUTH = "__import__('json').dumps([number, total, seen['last']])"


def look(client, thread):
    """As VS Code does: the top frame, the others, its scopes, the locals, and one of them that is open."""
    top = client.stack(thread, startFrame=0, levels=1)[0]
    client.stack(thread, startFrame=1, levels=19)
    values = client.locals(top["id"])
    seen = client.children(values["seen"]["variablesReference"])
    return top, values, seen


def step(client, thread):
    client.step("next", thread)
    return look(client, thread)


def step_and_wait(client, thread):
    """A step whose answers have been prefetched when this returns."""
    def answers():
        return client.stderr.read_text().count("the answer to variables has been prefetched")
    before = answers()
    client.step("next", thread)
    wait_for(lambda: answers() > before, client.stderr.read_text)


def test_what_is_shown_is_true(cluster, run_relay):
    relay = run_relay(cluster)
    env = {name: relay.env[name] for name in ("HOME", "XDG_STATE_HOME")}
    driver = cluster.driver("counting.py")
    cluster.wait_paused(1)
    with cluster.raydbg_dap(env={**env, "RAYDBG_LOG": "debug"}) as client:
        client.initialize()
        client.attach({"task": "count"})
        thread = client.stopped()["threadId"]
        look(client, thread)
        for _ in range(2):  # to where all the names are
            step(client, thread)
        for _ in range(12):
            top, values, seen = step(client, thread)
            shown = [int(values["number"]["value"]), int(values["total"]["value"]), seen["'last'"]["value"]]
            number, total, last = json.loads(client.evaluate(TRUTH, top["id"]).strip("'"))
            assert shown == [number, total, str(last)]
        answered = client.stderr.read_text().count("variables has a prefetched answer")
        assert answered >= 20, client.stderr.read_text()
        top, values, _ = step(client, thread)
        scope = client.ok("scopes", {"frameId": top["id"]})["scopes"][0]["variablesReference"]
        step_and_wait(client, thread)
        client.ok("setVariable", {"variablesReference": scope, "name": "total", "value": "10000"})
        top, values, _ = look(client, thread)
        assert values["total"]["value"] == "10000"
        step_and_wait(client, thread)
        client.evaluate("seen['last'] = 'mine'", top["id"])
        _, _, seen = look(client, thread)
        assert seen["'last'"]["value"] == "'mine'"
        client.resume(thread)
        assert int(driver.result("count")) > 10000
