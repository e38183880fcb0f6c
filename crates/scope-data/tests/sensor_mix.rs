//! Few, sparse and noisy sensors in the schedule.

use scope_data::{
    observation::{Condition, Family, Layout, MaskSampler, TRAIN_MASK_SEED},
    schedule::{Batch, BatchMaker, Producer, Schedule, SensorMix},
};
use scope_pde::{Pde, cylinder::Disk};

const MIX: SensorMix =
    SensorMix { noise_share: 0.25, noise: [0.001, 0.2], few_share: 0.4, few: [5, 100], sparse_share: 0.0 };

fn maker(pde: Pde, mix: Option<SensorMix>) -> BatchMaker {
    let disk = |n: i32| Disk { cx: 8.0, cy: 10.0 + f64::from(n % 10), r: 2.5 };
    let regions = if pde.has_disk() { (0..100).map(|n| disk(n).into()).collect() } else { Vec::new() };
    let sampler = MaskSampler::new(pde, TRAIN_MASK_SEED, 32);
    BatchMaker { schedule: Schedule::new(5, 100, 8).mixing(mix), sampler, regions, shape: 32.into() }
}

#[test]
fn without_shares_batches_are_those_of_the_protocol() {
    let nothing = SensorMix { noise_share: 0.0, few_share: 0.0, ..MIX };
    let plain = maker(Pde::POISSON, None);
    let mixed = maker(Pde::POISSON, Some(nothing));
    assert!((0..50).all(|number| plain.batch(number) == mixed.batch(number)));
    assert!((0..50).all(|number| plain.batch(number).noise.is_none()));
}

/// What one of several processes makes of a batch is a part of what one alone makes.
#[test]
fn rows_of_a_batch_are_the_same_wherever_they_are_made() {
    for pde in [Pde::POISSON, Pde::CYLINDER] {
        for mix in [None, Some(MIX)] {
            let whole = maker(pde, mix);
            let part = maker(pde, mix);
            let part = BatchMaker { schedule: part.schedule.of_rows(3..6), ..part };
            // Records are drawn across the end of an epoch in batch 12.
            for number in 0..20 {
                assert_eq!(part.batch(number), whole.batch(number).rows(3..6), "{pde}, batch {number}");
            }
        }
    }
}

#[test]
fn few_sensors_are_a_share_of_scattered_ones_and_change_nothing_else() {
    let plain = maker(Pde::POISSON, None).schedule;
    let mixed = maker(Pde::POISSON, Some(MIX)).schedule;
    let mut few = Vec::new();
    let mut scattered = 0;
    for number in 0..20_000 {
        let before = plain.plan(number);
        let now = mixed.plan(number);
        assert_eq!(before.draws, now.draws);
        let Layout::Family(family, budget) = now.condition.layout() else { panic!("a family") };
        scattered += usize::from([Family::UNIFORM, Family::CLUSTER].contains(&family));
        if now.condition != before.condition {
            assert!([Family::UNIFORM, Family::CLUSTER].contains(&family), "{}", now.condition);
            let kept = |condition: Condition| (condition.task(), condition.layout_name());
            assert_eq!(kept(now.condition), kept(before.condition));
            few.push(budget);
        }
    }
    let share = few.len() as f64 / scattered as f64;
    assert!((share - 0.4).abs() < 0.03, "{share}");
    assert_eq!((few.iter().min(), few.iter().max()), (Some(&5), Some(&100)));
    // Uniform in the logarithm of [5, 101): half lie below sqrt(5 * 101) = 22.5.
    let below = few.iter().filter(|budget| **budget < 23).count() as f64 / few.len() as f64;
    let expected = (23.0_f64 / 5.0).ln() / (101.0_f64 / 5.0).ln();
    assert!((below - expected).abs() < 0.04, "{below} {expected}");
}

#[test]
fn sparse_batches_see_500_uniform_points_of_each_field_in_turn_and_change_nothing_else() {
    let without = maker(Pde::POISSON, Some(MIX)).schedule;
    let with = maker(Pde::POISSON, Some(SensorMix { sparse_share: 0.5, ..MIX })).schedule;
    let expected = ["forward/uniform/500", "inverse/uniform/500"];
    let mut sparse = 0;
    for number in 0..20_000 {
        let before = without.plan(number);
        let now = with.plan(number);
        assert_eq!(before.draws, now.draws);
        if now.condition != before.condition {
            assert_eq!(now.condition.to_string(), expected[(number % 2) as usize]);
            sparse += 1;
        }
    }
    let share = f64::from(sparse) / 20_000.0;
    assert!((share - 0.5).abs() < 0.03, "{share}");
}

#[test]
fn conditions_in_turn_stay_as_they_are_whatever_the_share_of_sparse_batches() {
    let sparse = SensorMix { sparse_share: 1.0, few_share: 0.0, ..MIX };
    let grid: Condition = "joint/grid/1024".parse().unwrap();
    let schedule = Schedule::new(5, 100, 8).mixing(Some(sparse)).taking_in_turn(vec![grid]);
    assert!((0..10).all(|number| schedule.condition(number) == grid));
}

#[test]
fn levels_are_uniform_in_their_logarithm_and_keys_differ() {
    let maker = maker(Pde::POISSON, Some(MIX));
    let mut levels = Vec::new();
    let mut keys = Vec::new();
    let mut draws = 0;
    for number in 0..1_000 {
        let rows = maker.batch(number).noise.unwrap().rows;
        for [a, u] in rows.as_chunks::<2>().0 {
            assert_eq!(a.level > 0.0, u.level > 0.0, "a draw is noisy or exact");
            keys.extend([a.key, u.key]);
            levels.extend([a.level, u.level].into_iter().filter(|level| *level > 0.0));
            draws += 1;
        }
    }
    let share = levels.len() as f64 / (2 * draws) as f64;
    assert!((share - 0.25).abs() < 0.03, "{share}");
    assert!(levels.iter().all(|level| (0.001..=0.2).contains(level)));
    // Kolmogorov and Smirnov: the greatest distance from the uniform distribution of logarithms.
    levels.sort_by(f64::total_cmp);
    let uniform = |level: f64| (level / 0.001).ln() / 200_f64.ln();
    let n = levels.len() as f64;
    let apart = levels.iter().enumerate().map(|(k, level)| (uniform(*level) - (k as f64 + 0.5) / n).abs());
    assert!(apart.fold(0.0, f64::max) < 1.95 / n.sqrt());
    let drawn = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), drawn);
}

#[test]
fn mixed_batches_do_not_depend_on_threads_and_disks_are_exact() {
    for pde in [Pde::POISSON, Pde::CYLINDER] {
        let direct = maker(pde, Some(MIX));
        let expected: Vec<Batch> = (20..60).map(|number| direct.batch(number)).collect();
        let made: Vec<Batch> = Producer::start(maker(pde, Some(MIX)), 20, 3, 5).take(40).collect();
        assert!(made == expected, "{pde}");
        let exact =
            expected[0].noise.as_ref().unwrap().exact.iter().map(|word| word.count_ones()).sum::<u32>();
        let pixels = Disk { cx: 8.0, cy: 10.0, r: 2.5 }.points(32).count() as u32;
        let disk = if pde.has_disk() { pixels } else { 0 };
        assert_eq!(exact, 8 * disk, "{pde}");
    }
}
