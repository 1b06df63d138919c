//! Arrays of recorded programs: their elements are bytes of the heap, of which every eighth is accessed, and they share their state all the same.

use std::path::Path;

use crate::support::programs::{compiled, overtake, succeed};

const ELEMENTS: u64 = 100_000;

/// Each thread works on a block of its own, three times; main fills the array before, each second element at first, so that every
/// element is a variable, and adds it up afterwards.
const SOURCE: &str = "\
#include <pthread.h>
#include <stdlib.h>
#define N 100000
#define T 4
static double *values;
double sum;
static void *work(void *at) {
    long number = (long)at;
    double *all = values;
    for (int round = 0; round < 3; round++)
        for (long i = number * (N / T); i < (number + 1) * (N / T); i++) all[i] = all[i] * 2 + 1;
    return 0;
}
int main(void) {
    pthread_t threads[T];
    double *all = malloc(N * sizeof *all), total = 0;
    for (long odd = 0; odd < 2; odd++)
        for (long i = odd; i < N; i += 2) all[i] = i;
    values = all;
    for (long t = 0; t < T; t++) pthread_create(&threads[t], 0, work, (void *)t);
    for (long t = 0; t < T; t++) pthread_join(threads[t], 0);
    for (long i = 0; i < N; i++) total += all[i];
    sum = total;
    free(all);
    return 0;
}
";

/// One thread fills blocks of 256 bytes, 16 bytes at a time, and the other adds up their bytes, in a loop that is unrolled.
const UNROLLED: &str = "\
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
enum { BLOCKS = 1000, BYTES = 256 };
typedef unsigned long Two __attribute__((vector_size(16)));
static unsigned char *blocks[BLOCKS];
static void *fill(void *unused) {
    for (long b = 0; b < BLOCKS; b++) {
        Two *block = (Two *)blocks[b];
        for (long i = 0; i < BYTES / 16; i++) block[i] = (Two){b, i};
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    long sum = 0;
    for (long b = 0; b < BLOCKS; b++) blocks[b] = malloc(BYTES);
    pthread_create(&thread, 0, fill, 0);
    pthread_join(thread, 0);
    for (long b = 0; b < BLOCKS; b++) {
        unsigned char *block = blocks[b];
#pragma GCC unroll 8
        for (long i = 0; i < BYTES; i++) sum += block[i];
        free(block);
    }
    return sum == 7;
}
";

#[test]
fn an_unrolled_loop_leaves_as_few_variables_as_a_plain_one() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("unrolled.c");
    std::fs::write(&source, UNROLLED).expect("writable");
    let program = compiled(&source, &directory);
    let traces = tempfile::tempdir().expect("writable");
    let output = succeed(overtake().args(["record", "-o"]).arg(traces.path()).arg("--").arg(&program));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let events = said.split("otr: ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a number");
    let events: u64 = events.replace(',', "").parse().expect("a number");
    // For each block: a write and a read of its pointer twice, allocated, filled, added up, freed.
    assert!(events < 20_000, "{said}");
}

/// The figures of `slimstate`, and its state, and that of `fasttrack`.
fn compared(trace: &Path) -> (serde_json::Value, u64, u64) {
    let output = succeed(overtake().args(["analyze", "--json", "-d", "fasttrack,slimstate"]).arg(trace));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let of = |at: usize| &document["detectors"][at];
    let state = |at: usize| of(at)["peak_state_bytes"].as_u64().expect("a number");
    (of(1)["figures"].clone(), state(1), state(0))
}

#[test]
fn elements_of_recorded_arrays_share_their_state() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("arrays.c");
    std::fs::write(&source, SOURCE).expect("writable");
    let program = compiled(&source, &directory);
    for exact in [&[][..], &["--exact"]] {
        let traces = tempfile::tempdir().expect("writable");
        succeed(overtake().args(["record", "-o"]).arg(traces.path()).args(exact).arg("--").arg(&program));
        let mut entries = std::fs::read_dir(traces.path()).expect("readable");
        let trace = entries.next().expect("a trace").expect("readable").path();
        let (figures, state, whole) = compared(&trace);
        let figure = |name: &str| figures[name].as_u64().expect("a number");
        assert!((ELEMENTS..ELEMENTS + 100).contains(&figure("array elements")), "{figures}");
        assert!(figure("array shadow cells") < 64, "{figures}");
        assert!(figure("race checks") < 3_000, "{figures}");
        assert!(state * 10 < whole, "{state} of {whole} bytes");
    }
}
