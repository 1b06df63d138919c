//! Hardness constructions: traces that encode a combinatorial problem, so that their races are the problem's answer.
//!
//! **Sources.** G1-G4 and G6: Kulkarni, Mathur and Pavlogiannis, *Dynamic Data-Race Detection Through the Fine-Grained Lens*, CONCUR
//! 2021. G5 and G7: Mathur, Pavlogiannis and Viswanathan, *Optimal Prediction of Synchronization-Preserving Races*, POPL 2021.
//! **Answer.** Each gadget comes with the exact set of races of one or more notions. It is computed from the vectors alone,
//! by the predicate that the construction encodes (for G7, whose other accesses race as they like, the races of one variable), never by running a detector.
//! **Differs from the papers** where the printed construction does not have the claimed races; each file says how.
//!
//! In these files, `cs(l)` stands for `acquire l; release l`, and `sync(l)` for `acquire l; read v; write v; release l` with a
//! variable `v` of its own, so that a correct reordering that contains a `sync(l)` contains all earlier ones of the trace.

mod g1;
mod g2;
mod g3;
mod g4;
mod g5;
mod g6;
mod g7;
mod poset;
mod vectors;
mod writer;

use std::collections::BTreeSet;

use overtake_trace::{EventIndex, Trace, VarId};

use crate::parameters::{ParameterError, within_named};
use crate::rng::Rng;

pub use g1::orthogonal_vectors_happens_before;
pub use g2::orthogonal_vectors_lock_cover;
pub use g3::hitting_set_lock_set;
pub use g4::three_orthogonal_vectors_sync_preserving;
pub use g5::{equality_as_printed, equality_sync_preserving};
pub use g6::{Clause, Relation, for_all_exists_happens_before};
pub use g7::{reads_from_poset_as_printed, reads_from_poset_predictable};
pub use poset::{Access, PosetEvent, ReadsFromPoset};
pub use vectors::Vector;

/// A race notion for which a gadget knows the races.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Notion {
    /// Happens-before races.
    HappensBefore,
    /// Sync-preserving races.
    SyncPreserving,
    /// Predictable races.
    Predictable,
    /// Conflicting accesses with disjoint sets of locks.
    LockCover,
    /// Variables that no lock protects.
    LockSet,
}

impl Notion {
    /// The name used in text.
    pub fn name(self) -> &'static str {
        match self {
            Notion::HappensBefore => "hb",
            Notion::SyncPreserving => "syncp",
            Notion::Predictable => "predictable",
            Notion::LockCover => "lock-cover",
            Notion::LockSet => "lock-set",
        }
    }
}

/// A set of races.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Races {
    /// Exactly these pairs (earlier event, later event).
    Pairs(BTreeSet<(EventIndex, EventIndex)>),
    /// Of the accesses to this variable, exactly these pairs.
    PairsOf(VarId, BTreeSet<(EventIndex, EventIndex)>),
    /// Exactly these variables.
    Variables(BTreeSet<VarId>),
}

/// All races of one notion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    /// The notion.
    pub notion: Notion,
    /// Its races.
    pub races: Races,
}

impl Expected {
    fn pairs(notion: Notion, pairs: impl IntoIterator<Item = (EventIndex, EventIndex)>) -> Expected {
        Expected { notion, races: Races::Pairs(pairs.into_iter().collect()) }
    }

    /// The later events of all pairs; none where the races are variables.
    pub fn second_events(&self) -> BTreeSet<EventIndex> {
        match &self.races {
            Races::Pairs(pairs) | Races::PairsOf(_, pairs) => {
                pairs.iter().map(|&(_, second)| second).collect()
            }
            Races::Variables(_) => BTreeSet::new(),
        }
    }
}

/// A trace and its races.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gadget {
    /// The trace.
    pub trace: Trace,
    /// Its races, by notion.
    pub expected: Vec<Expected>,
}

/// The size of a gadget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Number of vectors (bits, for G5; things, for G6; sections of each thread, for G7).
    pub vectors: u64,
    /// Length of a vector; G5 has none, G6 has so many clauses, G7 so many threads.
    pub dimension: u64,
    /// Seed of the vectors.
    pub seed: u64,
}

/// One kind of gadget, for tables and command lines.
#[derive(Debug)]
pub struct GadgetKind {
    /// The name on the command line.
    pub name: &'static str,
    /// One line of help.
    pub description: &'static str,
    /// The size by default.
    pub default_size: Size,
    /// The greatest dimension, and the most vectors of a dimension.
    most: (u64, fn(u64) -> u64),
    build: fn(&Size, &mut Rng) -> Gadget,
}

/// What most gadgets may have.
const MOST: (u64, fn(u64) -> u64) = (1_000, |_| 10_000);

const SMALL: Size = Size { vectors: 8, dimension: 6, seed: 1 };

/// Every gadget.
pub const GADGETS: &[GadgetKind] = &[
    GadgetKind {
        name: "gadget-g1",
        description: "orthogonal vectors as happens-before races between writes and reads",
        default_size: SMALL,
        most: MOST,
        build: g1::random,
    },
    GadgetKind {
        name: "gadget-g2",
        description: "orthogonal vectors as lock-cover races of two threads",
        default_size: SMALL,
        most: MOST,
        build: g2::random,
    },
    GadgetKind {
        name: "gadget-g3",
        description: "hitting set as lock-set races",
        default_size: SMALL,
        most: MOST,
        build: g3::random,
    },
    GadgetKind {
        name: "gadget-g4",
        description: "orthogonal triples of vectors as sync-preserving races",
        default_size: SMALL,
        most: MOST,
        build: g4::random,
    },
    GadgetKind {
        name: "gadget-g5",
        description: "inequality of two bit strings as sync-preserving races",
        default_size: SMALL,
        most: MOST,
        build: g5::random,
    },
    GadgetKind {
        name: "gadget-g5-printed",
        description: "the published form of g5, which has fewer sync-preserving races than claimed",
        default_size: SMALL,
        most: MOST,
        build: g5::random_printed,
    },
    GadgetKind {
        name: "gadget-g6",
        description: "formulas of the form: for all x there are y and z, as happens-before races",
        default_size: Size { vectors: 8, dimension: 2, seed: 1 },
        most: MOST,
        build: g6::random,
    },
    GadgetKind {
        name: "gadget-g7",
        description: "realizability of a reads-from poset as one race that swaps two sections",
        default_size: Size { vectors: 4, dimension: 3, seed: 1 },
        most: (12, g7::most_sections),
        build: g7::random,
    },
];

/// The gadget of this name.
pub fn find_gadget(name: &str) -> Option<&'static GadgetKind> {
    GADGETS.iter().find(|gadget| gadget.name == name)
}

impl GadgetKind {
    /// The gadget for random vectors of the given size.
    pub fn build(&self, size: &Size) -> Result<Gadget, ParameterError> {
        let (most_dimension, most_vectors) = self.most;
        within_named("dimension", size.dimension, 1, most_dimension)?;
        within_named("vectors", size.vectors, 1, most_vectors(size.dimension))?;
        Ok((self.build)(size, &mut Rng::new(size.seed)))
    }
}
