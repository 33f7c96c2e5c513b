"""What the relay remembers of the pauses that it has held."""

from waits import hard, wait_until


def test_the_relay_remembers_when_a_task_was_paused(adapter, hub):
    """A step ends a pause, and its stop begins another; a client that leaves ends none."""
    def history():
        answer = hub.http("GET", "/v1/pauses/history")
        with hard():
            assert answer.status == 200, answer
        return answer.json["pauses"]

    assert history() == []
    client = hub.join()
    thread = client.stopped()["threadId"]
    wait_until(lambda: history()[-1]["location"], "the location is known")
    [first] = history()
    assert (first["reason"], first["ended"], first["location"]["line"]) == ("breakpoint", None, 8), first
    client.step("next", thread)
    wait_until(lambda: history()[-1]["location"], "the next location is known")
    [ended, second] = history()
    assert ended["began"] == first["began"] <= ended["ended"] <= second["began"], (ended, second)
    assert ended["location"] == first["location"] and second["reason"] == "step"
    client.disconnect()
    client.wait_end()
    assert history()[-1]["ended"] is None
    assert hub.post("release").status == 200
    wait_until(lambda: history()[-1]["ended"], "the pause has ended")
    assert len(history()) == 2
    assert hub.http("POST", "/v1/pauses/history").status == 404
