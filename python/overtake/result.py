"""Stored results: what `--report result=FILE` and `--report json=FILE` write. docs/json.md describes their fields."""

import json

# Versions of the form that this package reads.
SCHEMAS = (1, 2)


class Finding:
    """A race, deadlock or misuse. `fields` is all that the result says about it."""

    def __init__(self, fields):
        self.fields = fields

    def __repr__(self):
        return f"<{self.verdict} {self.kind} {self.fingerprint[:8]}: {self.headline}>"

    @property
    def fingerprint(self):
        """16 digits that stay the same from run to run."""
        return self.fields["fingerprint"]

    @property
    def headline(self):
        """What meets what, in words."""
        return self.fields["headline"]

    @property
    def kind(self):
        """`race`, `deadlock` or `misuse`."""
        return self.fields.get("kind", "race")

    @property
    def verdict(self):
        """`observed`, `predicted`, `possible` or `suspected`."""
        return self.fields["verdict"]

    @property
    def status(self):
        """`new`, `known` (by the baseline) or `suppressed`."""
        return self.fields.get("status", {}).get("is", "new")

    @property
    def is_confirmed(self):
        """Whether `overtake confirm` has seen it happen."""
        return bool(self.fields.get("confirmed"))

    @property
    def accesses(self):
        """What the threads do: dictionaries with `operation`, `thread`, `stack`, `held`."""
        if "accesses" in self.fields:
            return self.fields["accesses"]
        return [self.fields[side] for side in ("first", "second") if side in self.fields]

    def places(self):
        """File and line of each access, `logger.c:21`; empty where it is not known."""
        return [_place(access.get("stack") or []) for access in self.accesses]

    def row(self):
        """The finding as one row of a table."""
        first, second, *_ = [*self.accesses, {}, {}]
        places = [*self.places(), "", ""]
        return {
            "fingerprint": self.fingerprint,
            "kind": self.kind,
            "verdict": self.verdict,
            "status": self.status,
            "confirmed": self.is_confirmed,
            "headline": self.headline,
            "memory": (self.fields.get("memory") or {}).get("name", ""),
            "first": first.get("operation", ""),
            "first_place": places[0],
            "second": second.get("operation", ""),
            "second_place": places[1],
            "count": self.fields.get("count", 1),
            "detectors": ",".join(self.fields.get("detectors", [])),
        }


class Result:
    """A stored result. `document` is the whole of it."""

    def __init__(self, document):
        if document.get("schema") not in SCHEMAS or "runs" not in document:
            raise ValueError(f"expected a result of schema {' or '.join(map(str, SCHEMAS))}; overtake run --report result=FILE writes one")
        self.document = document
        self.findings = [Finding(fields) for fields in document.get("findings", document.get("races", []))]

    @property
    def runs(self):
        """What was examined: a dictionary for each program or trace."""
        return self.document["runs"]

    def rows(self):
        """A row for each finding."""
        return [finding.row() for finding in self.findings]

    def __len__(self):
        return len(self.findings)

    def __iter__(self):
        return iter(self.findings)

    def __getitem__(self, key):
        """A finding by its number from 1, as reports count, or by the beginning of its fingerprint."""
        if isinstance(key, int):
            if not 1 <= key <= len(self.findings):
                raise KeyError(key)
            return self.findings[key - 1]
        found = [finding for finding in self.findings if finding.fingerprint.startswith(key)]
        if len(found) != 1:
            raise KeyError(key)
        return found[0]


def load(path):
    """Reads a stored result."""
    with open(path, encoding="utf-8") as file:
        return Result(json.load(file))


def _place(stack):
    frame = next((frame for frame in stack if frame.get("file")), None)
    if frame is None:
        return ""
    return f"{frame['file']}:{frame['line']}" if frame.get("line") else frame["file"]
