//! What help shows below the options of a command.

pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  overtake run bank.c                       compile, run, report; several sources are compiled together
  overtake run -- ./server --port 80        a program built with overtake cc or overtake c++
  overtake run --keep traces -- ./server    keep the traces for overtake analyze, stat, compare
  overtake run --hunt 20 -- ./server        also try what is only suspected; report what was seen

The report goes to standard error. Exit code 66 when a race is reported, else that of the program; 128 + n when signal n
ended it.";

pub(super) const RECORD_EXAMPLES: &str = "\
Examples:
  overtake record -o traces -- ./server --port 80
  overtake analyze traces/server.1234.otr

The exit code is that of the program.";

pub(super) const COMPILER_EXAMPLES: &str = "\
Examples:
  overtake cc -O2 -c bank.c && overtake cc bank.o -o bank && ./bank
  make CC='overtake cc' CXX='overtake c++'
  CC='overtake cc' CXX='overtake c++' cmake -B build

OVERTAKE_CC and OVERTAKE_CXX name the real compilers. A program built this way records itself; started directly, it reports
its races when it ends.";

pub(super) const BUILD_EXAMPLES: &str = "\
Examples:
  overtake build -- make
  overtake build -- cmake -B build && overtake build -- cmake --build build";

pub(super) const ANALYZE_EXAMPLES: &str = "\
Examples:
  overtake analyze run.std                        observed and predicted races
  overtake analyze run.otr -d shb,lock-cover      two notions, one reading of the trace
  overtake analyze run.otr -d short-hb -w 1000    races at most 1,000 events apart
  overtake analyze run.otr -d hb --workers 8      eight cores share the work
  overtake analyze run.otr -d rpt --epsilon 0.01  a sample of constant size, for huge traces
  zcat run.std.gz | overtake analyze - --json     for programs; see docs/json.md

Exit code 66 when a race is reported, 0 when none is.";

pub(super) const CLUSTER_EXAMPLES: &str = "\
Examples:
  overtake cluster --local 4 run.otr -d hb         four processes on this machine
  overtake cluster --hosts hosts.txt run.otr -d hb --workers 8
                                                   eight cores of each host in the file; every host finds run.otr and
                                                   hosts.txt under the same path and has overtake installed

Connections are not encrypted: see docs/scale.md. Exit code 66 when a race is reported, 0 when none is.";

pub(super) const REPORT_EXAMPLES: &str = "\
Examples:
  overtake run --report result=races.json -- ./server
  overtake report races.json                                     the text again
  overtake report shard1.json shard2.json --report html=races.html  several results as one
  overtake report races.json --report json=- | jq .findings

Exit code 66 when a result has a race, else 0.";

pub(super) const DIFF_EXAMPLES: &str = "\
Examples:
  overtake diff before.json after.json            + new, - gone
  overtake diff before.json after.json --json

Findings are compared by fingerprint, which does not change when lines move. Exit code 66 when something is new, 0 when nothing is.";

pub(super) const CONFIRM_EXAMPLES: &str = "\
Examples:
  overtake run --report result=races.json -- ./server --once
  overtake confirm races.json                     the races that did not happen yet
  overtake confirm races.json 3 --tries 20        only the third
  overtake confirm races.json 3 -- ./server -n 5  with other arguments
  overtake confirm races.json --gdb 3             stops where both threads stand at the accesses
  overtake run --confirm -- ./server --once       records, predicts and confirms at once

A thread that comes to one access of a race is held there until another thread stands at the other one. Exit code 66 if a
race was seen, 0 if none was.";

pub(super) const BASELINE_EXAMPLES: &str = "\
Examples:
  overtake run --report result=races.json -- ./server
  overtake baseline races.json -o races.toml --reason 'before the rewrite'
  overtake run --baseline races.toml -- ./server            exit code 66 for new races only
  overtake baseline races.json -o races.toml --prune        forget those that are gone

Races that the file already has keep their reasons and dates. Commit the file.";

pub(super) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  overtake explain races.json 3            of a stored result
  overtake explain races.json 1b560a57     by the beginning of its fingerprint
  overtake explain run.otr 3               of a trace, which is analysed again

Races have the numbers that the report gives them for the same detectors and options.";

pub(super) const WITNESS_EXAMPLES: &str = "\
Examples:
  overtake witness run.otr --race 3                the part of the schedule that matters, a column per thread
  overtake witness run.otr --race 3 --full         every event
  overtake witness run.otr --race 3 --std w.std    the reordered run as a trace of its own

Races have the numbers that reports give them for the same detectors and options; the beginning of a fingerprint works as well. Every schedule is replayed by an
independent checker of correct reorderings before it is shown.";

pub(super) const ASK_EXAMPLES: &str = "\
Examples:
  overtake ask run.std --pair 11,17                    is it a race, by which notions, and why not
  overtake ask run.std --event 17 --thread T1          event 17 and the accesses of T1 that it conflicts with

It prints the chain of events that forces the order, or a checked schedule that brings the two together. The
trace is held in memory. Exit code 66 if there is a race.";

pub(super) const CERTIFY_EXAMPLES: &str = "\
Examples:
  overtake certify run.std -o proof.txt                a lock for each variable, or a variable that no lock protects
  overtake certify run.std --check proof.txt           one pass that needs no sets of locks
  overtake certify run.std --notion happens-before     two accesses that race, or why all others are ordered

Exit code 66 if there is a race, 1 if a certificate does not hold.";

pub(super) const COMPARE_EXAMPLES: &str = "\
Examples:
  overtake compare run.std                            every detector
  overtake compare traces/ -d hb,syncp,short-syncp --window 1000 --csv > results.csv
  overtake compare traces/ --repeat 3 --timeout 60s --memory 2G --latex > table.tex
  overtake compare run.otr --json | jq '.detectors[] | {name, seconds}'";

pub(super) const STAT_EXAMPLES: &str = "\
Examples:
  overtake stat run.std
  overtake stat run.otr --json";

pub(super) const VALIDATE_EXAMPLES: &str = "\
Examples:
  overtake validate run.std             what would be repaired
  overtake validate run.std --strict    stop at the first violation, exit code 1";

pub(super) const CONVERT_EXAMPLES: &str = "\
Examples:
  overtake convert run.std.gz run.otr       seal a text trace
  overtake convert run.otr - --to std       text on standard output
  overtake convert broken.otr good.otr --salvage

Events are written as they are read, without repairs, so that their indices stay the same.";

pub(super) const GEN_EXAMPLES: &str = "\
Examples:
  overtake gen --list                                    what can be made
  overtake gen lock-heavy --events 10M -o t.otr          ten million events
  overtake gen lock-heavy --raciness 0.001 --seed 7 -o t.std
  overtake gen gadget-g1 --vectors 50 -o g.std           prints the races that must be found

The same shape, options and seed make the same trace. The command that repeats a trace is printed.";
