//! Complexity: growth with threads and locks, and the families of traces behind the lower bounds.

use overtake::measure::{Curve, Plot, Scale};

use super::corpus::{Corpus, Workload};
use super::{Exhibit, Figures};

const THREADS: [u64; 5] = [4, 16, 64, 256, 1024];
const LOCKS: [u64; 5] = [2, 8, 32, 128, 512];
const VECTORS: [u64; 4] = [16, 32, 64, 128];

pub(super) fn exhibits(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let events = corpus.events;
    let by_threads = THREADS.iter().filter_map(|&threads| {
        let workload = Workload::shape("lock-heavy", &format!("threads-{threads}"), |parameters| {
            parameters.events = events;
            parameters.threads = threads;
            parameters.locks = 8;
            parameters.variables = 1000;
        });
        Some((threads, workload?))
    });
    let by_locks = LOCKS.iter().filter_map(|&locks| {
        let workload = Workload::shape("lock-heavy", &format!("locks-{locks}"), |parameters| {
            parameters.events = events;
            parameters.threads = 64;
            parameters.locks = locks;
            parameters.variables = 1000;
        });
        Some((locks, workload?))
    });
    let mut exhibits = Vec::new();
    let (by_threads, by_locks): (Vec<_>, Vec<_>) = (by_threads.collect(), by_locks.collect());
    for (what, workloads, title) in [
        ("threads", by_threads, "Time as threads are added, 8 locks"),
        ("locks", by_locks, "Time as locks are added, 64 threads"),
    ] {
        exhibits.push(growth(&format!("complexity-{what}"), title, what, &workloads, figures));
    }
    exhibits.push(families(figures));
    exhibits
}

/// Time for each event of clocks by thread and of clocks by lock.
fn growth(
    name: &str,
    title: &str,
    what: &str,
    workloads: &[(u64, Workload)],
    figures: &mut Figures<'_>,
) -> Exhibit {
    let curves = figures.setups(&["hb", "lockstamp"]).into_iter().map(|setup| Curve {
        name: setup.label.clone(),
        points: workloads
            .iter()
            .map(|(size, workload)| {
                let measured = figures.of(workload, setup.clone());
                (*size as f64, 1e9 * measured.seconds / measured.covered.max(1) as f64)
            })
            .collect(),
    });
    Exhibit::Plot(Plot {
        name: name.to_owned(),
        title: title.to_owned(),
        labels: [what.to_owned(), "nanoseconds an event".to_owned()],
        scales: [Scale::Logarithmic, Scale::Linear],
        curves: curves.collect(),
    })
}

/// The detector of the notion that a construction is hard for.
fn detector_of(gadget: &str) -> &'static str {
    match gadget {
        "gadget-g2" => "lock-cover",
        "gadget-g3" => "lock-set",
        "gadget-g4" | "gadget-g5" | "gadget-g5-printed" => "syncp",
        "gadget-g7" => "osr",
        _ => "hb",
    }
}

/// Time on the constructions as they grow.
fn families(figures: &mut Figures<'_>) -> Exhibit {
    let mut curves = Vec::new();
    for kind in Corpus::gadgets() {
        for setup in figures.setups(&[detector_of(kind.name)]) {
            let mut points: Vec<_> = VECTORS
                .iter()
                .map(|&vectors| {
                    let measured = figures.of(&Workload::gadget(kind, vectors), setup.clone());
                    (measured.events as f64, measured.seconds)
                })
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            curves.push(Curve {
                name: format!("{}, {}", kind.name.trim_start_matches("gadget-"), setup.label),
                points,
            });
        }
    }
    Exhibit::Plot(Plot {
        name: "complexity-families".to_owned(),
        title: "Time on the constructions of the lower bounds".to_owned(),
        labels: ["events".to_owned(), "seconds".to_owned()],
        scales: [Scale::Logarithmic, Scale::Logarithmic],
        curves,
    })
}
