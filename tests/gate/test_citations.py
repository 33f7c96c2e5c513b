"""The check of citations notices those that lead nowhere."""

import citations

PAGES = {"docs/facts/ray.md": '## a <a id="a"></a>\n### a.3 <a id="a.3"></a>\n'}
# In two parts: else this file would have the citation.
FACTS = "docs/facts/"


def look(text):
    return list(citations.problems({"relay/x.c": text}, lambda name: PAGES.get(name, "")))


def test_one_that_leads_somewhere():
    assert look(f"/* {FACTS}ray.md#a, {FACTS}ray.md#a.3 */\n") == []


def test_one_without_an_anchor_or_a_page():
    assert look(f"\n/* {FACTS}ray.md#b */\n") == ["relay/x.c:2: docs/facts/ray.md has no anchor b"]
    assert look(f"{FACTS}lws.md#a") == ["relay/x.c:1: docs/facts/lws.md has no anchor a"]


def test_all_lead_somewhere():
    assert citations.main() == 0
