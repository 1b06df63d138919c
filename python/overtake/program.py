"""What the program `overtake` says of traces. docs/json.md describes the documents."""

import json
import os
import re
import subprocess

# Exit codes of a run that did what it was asked for: no race, races.
FINE = (0, 66)


class OvertakeError(Exception):
    """The program ended with an error; the message is what it said."""


class Analysis:
    """What detectors found in a trace. `document` is all that was printed."""

    def __init__(self, document):
        self.document = document

    @property
    def detectors(self):
        """What each detector found, by its name."""
        return {detector["name"]: detector for detector in self.document["detectors"]}

    def rows(self):
        """A row for each race of each detector."""
        rows = []
        for detector in self.document["detectors"]:
            for race in detector["races"]:
                first, second = race["first"], race["second"]
                rows.append({
                    "detector": detector["name"], "race": race["id"], "verdict": race["verdict"], "variable": race["variable"],
                    "first_event": first["index"], "first_thread": first["thread"], "first": first["op"], "first_location": first["location"],
                    "second_event": second["index"], "second_thread": second["thread"], "second": second["op"],
                    "second_location": second["location"], "distance": second["index"] - first["index"], "count": race["count"],
                })
        return rows

    def summary(self):
        """A row for each detector: what RAPID's users count, time and memory."""
        return [{
            "detector": detector["name"], "racy_events": len(detector["racy_events"]), "racy_variables": len(detector["racy_variables"]),
            "location_pairs": detector["location_pairs"], "max_distance": detector["max_distance"], "seconds": detector["seconds"],
            "peak_state_bytes": detector["peak_state_bytes"],
        } for detector in self.document["detectors"]]


def analyze(trace, detectors=(), *options):
    """Analyses a trace. Without detectors, the usual ones."""
    chosen = ["-d", ",".join(detectors)] if detectors else []
    return Analysis(_document(["analyze", *chosen, *options, str(trace)]))


def compare(trace, *options):
    """Runs every detector on a trace."""
    return Analysis(_document(["compare", *options, str(trace)]))


def stat(trace):
    """What a trace is made of."""
    return _document(["stat", str(trace)])


def events(trace):
    """The events of a trace in any format, in their order: (thread, operation, operand, location) each, texts as in STD."""
    process = subprocess.Popen([_program(), "-q", "convert", str(trace), "-", "--to", "std"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, encoding="utf-8", errors="replace")
    with process:
        for line in process.stdout:
            thread, operation, *location = line.rstrip("\n").split("|")
            parts = re.fullmatch(r"([^(]*)\((.*)\)", operation)
            name, operand = parts.groups() if parts else (operation, "")
            yield thread, name, operand, location[0] if location else ""
        message = process.stderr.read()
    if process.returncode:
        raise OvertakeError(message.strip())


def _document(arguments):
    run = subprocess.run([_program(), *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if run.returncode not in FINE:
        raise OvertakeError(run.stderr.decode(errors="replace").strip())
    return json.loads(run.stdout)


def _program():
    return os.environ.get("OVERTAKE_PROGRAM", "overtake")
