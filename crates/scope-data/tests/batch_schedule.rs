//! The schedule over many batches, and its producer.

use std::collections::HashMap;

use proptest::prelude::*;
use scope_data::{
    Channel,
    observation::{Condition, Family, Layout, MaskSampler, TRAIN_MASK_SEED, Task},
    schedule::{Batch, BatchMaker, Producer, Schedule},
};
use scope_pde::{Pde, cylinder::Disk};

fn family_and_budget(condition: Condition) -> (Family, usize) {
    match condition.layout() {
        Layout::Family(family, budget) => (family, budget),
        other => panic!("{other:?} is not trained on"),
    }
}

#[test]
fn families_tasks_and_budgets_have_their_shares() {
    let schedule = Schedule::new(1, 50_000, 32);
    let batches = 10_000u64;
    let conditions: Vec<Condition> = (0..batches).map(|n| schedule.condition(n)).collect();
    for cycle in conditions.chunks(5) {
        let mut families: Vec<Family> = cycle.iter().map(|c| family_and_budget(*c).0).collect();
        families.sort();
        assert_eq!(families, Family::ALL, "each family once in five batches");
    }
    for family in Family::ALL {
        let own: Vec<Condition> =
            conditions.iter().copied().filter(|c| family_and_budget(*c).0 == family).collect();
        assert_eq!(own.len(), 2000);
        for five in own.chunks(5) {
            let count = |task| five.iter().filter(|condition| condition.task() == task).count();
            assert_eq!([count(Task::Forward), count(Task::Inverse), count(Task::Joint)], [2, 2, 1]);
        }
        let slots = family.budget_slots();
        for cycle in own.chunks(slots.len()) {
            let mut budgets: Vec<usize> = cycle.iter().map(|c| family_and_budget(*c).1).collect();
            budgets.sort();
            assert_eq!(budgets, slots, "each slot once in a cycle");
        }
        if slots.len() == 8 {
            let sparse = own.iter().filter(|condition| condition.budget() == 500).count();
            assert_eq!(4 * sparse, own.len(), "500 points have weight 1/4");
        }
    }
}

#[test]
fn orders_are_shuffled() {
    let schedule = Schedule::new(1, 100, 10);
    let first: Vec<Family> =
        (0..200).map(|cycle| family_and_budget(schedule.condition(5 * cycle)).0).collect();
    for family in Family::ALL {
        let share = first.iter().filter(|f| **f == family).count();
        assert!((20..=60).contains(&share), "{family:?} leads {share} of 200 cycles");
    }
}

/// The records of the first `batches` batches, in order.
fn draws(records: usize, batch: usize, batches: u64) -> Vec<(usize, u64)> {
    let schedule = Schedule::new(7, records, batch);
    (0..batches).flat_map(|number| schedule.plan(number).draws).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every record once in each permutation, whatever the sizes; batches cross the boundary and drop nothing.
    #[test]
    fn each_record_is_drawn_once_an_epoch(records in 1usize..200, batch in 1usize..70) {
        let batches = (3 * records).div_ceil(batch) as u64;
        let draws = draws(records, batch, batches);
        for (epoch, permutation) in draws.chunks_exact(records).enumerate() {
            let mut drawn: Vec<usize> = permutation.iter().map(|(record, _)| *record).collect();
            prop_assert!(permutation.iter().all(|(_, draw)| *draw == epoch as u64));
            drawn.sort();
            prop_assert_eq!(drawn, (0..records).collect::<Vec<_>>());
        }
    }

    /// The order of the records does not depend on how they are cut into batches.
    #[test]
    fn batch_size_does_not_show_in_the_order(batch in 1usize..60) {
        let length = 150usize;
        let expected = draws(50, 1, length as u64);
        let found = draws(50, batch, length.div_ceil(batch) as u64);
        prop_assert_eq!(&found[..length], &expected[..]);
    }
}

#[test]
fn any_batch_can_be_asked_for_at_any_time() {
    let schedule = Schedule::new(3, 1000, 32);
    let later = schedule.plan(1_000_000);
    assert_eq!(schedule.plan(0), Schedule::new(3, 1000, 32).plan(0));
    assert_eq!(Schedule::new(3, 1000, 32).plan(1_000_000), later);
    assert_eq!(later.draws[0].1, 32_000_000 / 1000);
    assert_ne!(Schedule::new(4, 1000, 32).plan(1_000_000).draws, later.draws, "seeds differ");
    // The last numbers there are do not overflow.
    schedule.plan(u64::MAX / 64);
}

/// Golden values; `reference/masks.py` prints the same.
#[test]
fn the_schedule_is_frozen() {
    let schedule = Schedule::new(20260913, 50_000, 50_000);
    let conditions = [0, 1, 2, 3, 4, 1_000_000].map(|number| schedule.condition(number).to_string());
    let expected = [
        "forward/uniform/1024",
        "joint/lines/4915",
        "joint/grid/4096",
        "forward/cluster/2048",
        "joint/block/9830",
        "forward/grid/16384",
    ];
    assert_eq!(conditions, expected);
    let records: Vec<usize> = schedule.plan(3).draws.iter().take(6).map(|(record, _)| *record).collect();
    assert_eq!(records, [47729, 37713, 49543, 19638, 3218, 14075]);
}

fn maker(pde: Pde) -> BatchMaker {
    let disk = |n: i32| Disk { cx: 8.0, cy: 10.0 + f64::from(n % 10), r: 2.5 };
    let regions = if pde.has_disk() { (0..100).map(|n| disk(n).into()).collect() } else { Vec::new() };
    let sampler = MaskSampler::new(pde, TRAIN_MASK_SEED, 32);
    BatchMaker { schedule: Schedule::new(5, 100, 8), sampler, regions, shape: 32.into() }
}

#[test]
fn the_producer_s_batches_do_not_depend_on_its_threads() {
    for pde in [Pde::POISSON, Pde::CYLINDER] {
        let direct = maker(pde);
        let expected: Vec<Batch> = (20..90).map(|number| direct.batch(number)).collect();
        for (threads, ahead) in [(1, 1), (2, 3), (8, 16)] {
            let made: Vec<Batch> = Producer::start(maker(pde), 20, threads, ahead).take(70).collect();
            assert!(made == expected, "{pde}, {threads} threads");
        }
    }
}

#[test]
fn a_batch_has_one_condition_and_the_right_bits() {
    let maker = maker(Pde::POISSON);
    let mut seen = HashMap::new();
    for number in 0..200 {
        let batch = maker.batch(number);
        assert_eq!(batch.condition, maker.schedule.condition(number));
        assert_eq!(batch.bits.len(), 8 * 2 * 16);
        let (family, budget) = family_and_budget(batch.condition);
        let points = family.points(budget, 32) as u32;
        let observed = batch.condition.task().observes();
        for masks in batch.bits.chunks(32) {
            for (channel, words) in masks.chunks(16).enumerate() {
                let count: u32 = words.iter().map(|word| word.count_ones()).sum();
                assert_eq!(count, if observed[Channel::BOTH[channel]] { points } else { 0 });
            }
        }
        *seen.entry(batch.condition).or_insert(0) += 1;
    }
    assert!(seen.len() > 50);
}
