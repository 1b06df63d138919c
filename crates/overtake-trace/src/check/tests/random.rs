//! Random events in any order.

use super::*;

/// W2 to W5 of the module doc, written again without the checker.
fn assert_well_formed(events: &[(u64, Event)]) {
    let mut held: Vec<(ThreadId, LockId, bool)> = Vec::new();
    let mut ever = Vec::new();
    let mut freed_by: Vec<(VarId, ThreadId)> = Vec::new();
    for &(_, event) in events {
        let thread = event.thread();
        match event.action() {
            Action::Acquire(lock) => {
                assert!(!held.iter().any(|&(_, l, _)| l == lock), "W2");
                held.push((thread, lock, true));
            }
            Action::AcquireShared(lock) => {
                assert!(!held.iter().any(|&(t, l, exclusive)| l == lock && (exclusive || t == thread)), "W2");
                held.push((thread, lock, false));
            }
            Action::Release(lock) | Action::ReleaseShared(lock) => {
                let exclusive = event.op() == Op::Release;
                let at = held.iter().position(|&h| h == (thread, lock, exclusive)).expect("W3");
                held.remove(at);
            }
            Action::Fork(other) | Action::Join(other) => assert_ne!(other, thread, "W4"),
            Action::Alloc(block) => {
                assert!(!ever.contains(&block), "W5");
                ever.push(block);
            }
            Action::Free(block) => {
                assert!(ever.contains(&block), "W5");
                let last = freed_by.iter().rfind(|(freed, _)| *freed == block);
                assert!(last.is_none_or(|&(_, last)| last != thread), "W5");
                freed_by.push((block, thread));
            }
            _ => {}
        }
    }
}

/// xorshift64: the events need variety, not quality.
fn random_numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 1_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

/// Fewer than 30 random events of the first `kinds` kinds in the list below.
fn random_events(random: &mut impl FnMut(u64) -> u64, kinds: u64) -> Vec<(u32, Action)> {
    let length = random(30);
    let event = |_| {
        let (thread, lock, other) = (random(3) as u32, LockId(random(2) as u32), ThreadId(random(4) as u32));
        let block = VarId(4 + 2 * random(2) as u32);
        let action = match random(kinds) {
            0 | 1 => Action::Acquire(lock),
            2 | 3 => Action::Release(lock),
            4 => Action::AcquireShared(lock),
            5 => Action::ReleaseShared(lock),
            6 => Action::Fork(other),
            7 => Action::Join(other),
            8 => Action::Alloc(block),
            9 => Action::Free(block),
            _ => Action::Write(VarId(block.0 + 1)),
        };
        (thread, action)
    };
    (0..length).map(event).collect()
}

#[test]
fn whatever_comes_in_what_goes_out_is_well_formed_and_keeps_its_indices() {
    let mut random = random_numbers();
    for round in 0..20_000 {
        let events = random_events(&mut random, 11);
        let mut checker = Checker::repairing();
        let out = Script::of(&events).check(&mut checker).unwrap();
        assert_well_formed(&out);
        let mut indices: Vec<_> = out.iter().map(|&(index, _)| index).collect();
        assert!(indices.is_sorted());
        indices.dedup();
        assert_eq!(indices, (0..events.len() as u64).collect::<Vec<_>>());

        let strict = Script::of(&events).check(&mut Checker::strict());
        assert_eq!(strict.is_ok(), checker.repairs().total() == 0, "round {round}");
        let in_small_blocks = Script::of(&events).check_in_blocks_of(&mut Checker::repairing(), 3).unwrap();
        assert_eq!(in_small_blocks, out, "block borders change nothing");
    }
}

#[test]
fn windows_are_checked_alike_with_and_without_a_short_way_for_ordinary_events() {
    let mut random = random_numbers();
    for _ in 0..5_000 {
        let (mut checker, mut thorough) = (Checker::repairing_mid_trace(), Checker::repairing_mid_trace());
        thorough.ordinary.leave_locks_out();
        let (mut script, mut again) = (Script::new(), Script::new());
        for _ in 0..3 {
            // Half of the windows have only lock operations, so that more of these are ordinary.
            let kinds = if random(2) == 0 { 4 } else { 11 };
            script.events = script_events(&random_events(&mut random, kinds));
            again.events = script.events.clone();
            let out = script.check_in_blocks_of(&mut checker, 7).unwrap();
            assert_eq!(out, again.check_in_blocks_of(&mut thorough, 7).unwrap(), "{:?}", script.events);
            checker.begin_window();
            thorough.begin_window();
        }
        assert_eq!(
            checker.repairs().made().collect::<Vec<_>>(),
            thorough.repairs().made().collect::<Vec<_>>()
        );
    }
}

#[test]
fn locks_are_ordinary_in_a_window_once_they_were_used_in_it() {
    let mut checker = Checker::repairing_mid_trace();
    let mut script = Script::of(&[(0, Action::Acquire(L)), (0, Action::Release(L))]);
    for _ in 0..2 {
        script.check(&mut checker).unwrap();
        checker.begin_window();
        assert_eq!(checker.ordinary.holder(L), Holder::Involved, "nothing is known yet");
        script.check(&mut checker).unwrap();
        assert_eq!(checker.ordinary.holder(L), Holder::Nobody);
        assert!(checker.ordinary.take(&script.events[0]));
    }
}
