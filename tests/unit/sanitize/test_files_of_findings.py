"""Findings as files: a SARIF log and a page."""

import json
from html.parser import HTMLParser

from tests.unit.sanitize.examples import finding
from visim.sanitize.findings import Actor, Finding, Place
from visim.sanitize.logs import sarif
from visim.sanitize.page import page


def sarif_problems(log: dict) -> list[str]:
    """Return which fields a log lacks that the schema of SARIF 2.1.0 requires, and bad indices."""
    found = [key for key in ("version", "runs") if key not in log]
    for run in log["runs"]:
        driver = run.get("tool", {}).get("driver", {})
        found += [] if driver.get("name") else ["tool.driver.name"]
        rules = driver.get("rules", [])
        found += ["rule.id" for rule in rules if not rule.get("id")]
        for result in run["results"]:
            found += [] if result.get("message", {}).get("text") else ["result.message.text"]
            if rules[result["ruleIndex"]]["id"] != result["ruleId"]:
                found.append("ruleIndex")
            if result["level"] not in {"none", "note", "warning", "error"}:
                found.append("level")
            for place in [*result["locations"], *result.get("relatedLocations", [])]:
                region = place.get("physicalLocation", {}).get("region", {"startLine": 1})
                found += [] if region["startLine"] > 0 else ["startLine"]
                found += [] if place.get("message", {"text": "x"}).get("text") else ["message"]
    return found


def test_a_log_has_what_its_schema_requires():
    nowhere = Finding("uninit-private", None, (), (), "nowhere", advice="give it a value")
    place = Place(None, None, None, "mov")
    unnamed = Finding("race-lockstep", None, (place,), (Actor(),), "no line", advice="wait")
    log = json.loads(json.dumps(sarif([("k", one) for one in (finding(), nowhere, unnamed)])))
    assert log["version"] == "2.1.0"
    assert sarif_problems(log) == []
    [first, *_] = log["runs"][0]["results"]
    assert first["level"] == "error"
    assert first["occurrenceCount"] == 3
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "/home/blur.cl"
    assert place["region"] == {"startLine": 3, "snippet": {"text": "t[l] = x[g];"}}
    assert first["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 7
    assert "work-item (18, 0, 0)" in first["relatedLocations"][0]["message"]["text"]
    assert [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]] == [
        *("race-local", "race-lockstep", "uninit-private"),
    ]


def test_the_checker_of_logs_sees_what_is_missing():
    log = sarif([("k", finding())])
    del log["runs"][0]["results"][0]["message"]["text"]
    log["runs"][0]["tool"]["driver"]["name"] = ""
    assert sarif_problems(log) == ["tool.driver.name", "result.message.text"]


class Reader(HTMLParser):
    """Notes anchors, links and texts, and that all that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.ids, self.links, self.texts = [], set(), set(), []

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        if tag not in {"meta", "br"}:
            self.open.append(tag)
        self.ids |= {known["id"]} if "id" in known else set()
        self.links |= {known["href"].removeprefix("#")} if "href" in known else set()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_a_page_has_the_sources_with_their_lines_marked():
    sources = {
        "/home/blur.cl": ["", "", "t[l] = x[g];"],
        "/home/a.cl": [f"line {n} & <more>" for n in range(1, 1001)],
        "/home/other.cl": ["nothing"],
    }
    text = page("blur<1>", [finding()], sources)
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert reader.links <= reader.ids
    said = "".join(reader.texts)
    for words in ("blur<1>: 1 error", "race-local", "put a barrier", "Found 3 times", "line 7 & <"):
        assert words in said
    assert "nothing" not in said
    assert "line 3 & <more>" in said  # near the line that is marked
    assert "line 50 & <more>" not in said


def test_a_page_without_findings_says_so():
    assert "k: nothing found" in page("k", [], {})
