//! Complexity: growth with threads and locks, and the families of traces behind the lower bounds.

use overtake::measure::{Curve, Plot, Scale};

use super::corpus::{Corpus, Workload};
use super::{Exhibit, Figures, Maker};

const THREADS: [u64; 5] = [4, 16, 64, 256, 1024];
const LOCKS: [u64; 5] = [2, 8, 32, 128, 512];
const VECTORS: [u64; 4] = [16, 32, 64, 128];

/// What the figures are made by.
pub(super) const MAKERS: [Maker; 3] = [threads, locks, families];

/// Time as threads are added.
fn threads(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let title = "Time as threads are added, 8 locks";
    vec![growth(("threads", title), corpus, &THREADS.map(|threads| (threads, threads, 8)), figures)]
}

/// Time as locks are added.
fn locks(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let title = "Time as locks are added, 64 threads";
    vec![growth(("locks", title), corpus, &LOCKS.map(|locks| (locks, 64, locks)), figures)]
}

/// Time for each event of clocks by thread and of clocks by lock: what grows, and how many threads and locks there are then.
fn growth(
    (what, title): (&str, &str),
    corpus: &Corpus,
    sizes: &[(u64, u64, u64)],
    figures: &mut Figures<'_>,
) -> Exhibit {
    let workloads: Vec<_> = sizes
        .iter()
        .filter_map(|&(size, threads, locks)| {
            let workload = Workload::shape("lock-heavy", &format!("{what}-{size}"), |parameters| {
                parameters.events = corpus.events;
                parameters.threads = threads;
                parameters.locks = locks;
                parameters.variables = 1000;
            });
            Some((size, workload?))
        })
        .collect();
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
        name: format!("complexity-{what}"),
        title: title.to_owned(),
        labels: [what.to_owned(), "nanoseconds an event".to_owned()],
        scales: [Scale::Logarithmic, Scale::Logarithmic],
        note: "Shape lock-heavy, 1,000 variables.".to_owned(),
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
fn families(_: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let (mut curves, mut notes) = (Vec::new(), Vec::new());
    for kind in Corpus::gadgets() {
        notes.push(format!("{}: {}", kind.name.trim_start_matches("gadget-"), kind.description));
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
    vec![Exhibit::Plot(Plot {
        name: "complexity-families".to_owned(),
        title: "Time on the constructions of the lower bounds".to_owned(),
        labels: ["events".to_owned(), "seconds".to_owned()],
        scales: [Scale::Logarithmic, Scale::Logarithmic],
        curves,
        note: notes.join("; "),
    })]
}
