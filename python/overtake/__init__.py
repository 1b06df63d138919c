"""Results and traces of Overtake, the race detector, as rows and tables.

    import overtake
    result = overtake.load("races.json")               # overtake run --report result=races.json
    overtake.table(result.rows())                      # a row for each finding, as a pandas table
    overtake.table(overtake.analyze("run.std").rows()) # a row for each race of each detector
    for event in overtake.events("run.otr"): ...       # thread, operation, operand, location

Everything works without pandas: rows are dictionaries. What runs the program `overtake` looks for it in PATH; the environment variable
OVERTAKE_PROGRAM names another one.
"""

from .program import Analysis, OvertakeError, analyze, compare, events, stat
from .result import Finding, Result, load
from .table import table

__all__ = ["Analysis", "Finding", "OvertakeError", "Result", "analyze", "compare", "events", "load", "stat", "table"]
