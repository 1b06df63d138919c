"""Runs the package against the real program: OVERTAKE_PROGRAM names it."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import overtake
from overtake.program import _program, subprocess

TRACE = """\
T0|fork(T1)|main.c:1
T0|fork(T2)|main.c:2
T1|w(x)|a.c:3
T1|acq(l)|a.c:4
T1|w(y)|a.c:5
T1|rel(l)|a.c:6
T2|acq(l)|b.c:7
T2|w(z)|b.c:8
T2|rel(l)|b.c:9
T2|w(x)|b.c:10
"""


class OfATrace(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.trace = self.directory / "run.std"
        self.trace.write_text(TRACE)

    def stored(self):
        result = self.directory / "races.json"
        command = [_program(), "-q", "analyze", str(self.trace), "--report", f"result={result}"]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return result

    def test_rows_have_the_races_of_each_detector(self):
        rows = overtake.analyze(self.trace, ["hb", "syncp"]).rows()
        self.assertEqual([(row["detector"], row["verdict"], row["variable"]) for row in rows], [("syncp", "predicted", "x")])
        self.assertEqual((rows[0]["first_event"], rows[0]["second_event"], rows[0]["distance"]), (2, 9, 7))

    def test_compare_has_a_row_for_each_detector(self):
        summary = {row["detector"]: row["racy_events"] for row in overtake.compare(self.trace).summary()}
        self.assertEqual((summary["hb"], summary["syncp"]), (0, 1))

    def test_events_are_those_of_the_trace(self):
        found = list(overtake.events(self.trace))
        self.assertEqual(found[2], ("T1", "w", "x", "a.c:3"))
        self.assertEqual(len(found), overtake.stat(self.trace)["trace"]["events"])

    def test_a_result_has_its_findings_by_number_and_fingerprint(self):
        result = overtake.load(self.stored())
        self.assertEqual(len(result), 1)
        self.assertEqual(result[1].fingerprint, result[result[1].fingerprint[:6]].fingerprint)
        row = result.rows()[0]
        self.assertEqual((row["verdict"], row["memory"], row["status"], row["confirmed"]), ("predicted", "x", "new", False))
        self.assertEqual({row["first_place"], row["second_place"]}, {"a.c:3", "b.c:10"})
        self.assertRaises(KeyError, lambda: result[2])
        self.assertRaises(KeyError, lambda: result["nothing"])

    def test_errors_say_what_the_program_said(self):
        with self.assertRaisesRegex(overtake.OvertakeError, "nowhere.std"):
            overtake.analyze(self.directory / "nowhere.std")
        with self.assertRaisesRegex(overtake.OvertakeError, "nowhere.std"):
            list(overtake.events(self.directory / "nowhere.std"))

    def test_another_document_is_no_result(self):
        other = self.directory / "other.json"
        other.write_text(json.dumps({"schema": 1, "trace": {}}))
        self.assertRaises(ValueError, overtake.load, other)

    def test_rows_make_a_table_of_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        made = overtake.table(overtake.load(self.stored()).rows())
        self.assertIsInstance(made, pandas.DataFrame)
        self.assertEqual(list(made["verdict"]), ["predicted"])


if __name__ == "__main__":
    unittest.main()
