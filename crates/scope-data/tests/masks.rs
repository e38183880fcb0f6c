//! The five families: exact counts, shapes, laws, and bits that never change.
//!
//! `SCOPE_MASK_SEEDS=100000 cargo test --release -p scope-data masks` tries more seeds.

use std::collections::HashSet;

use rayon::prelude::*;
use scope_data::observation::{
    Condition, Family, Layout, Mask, MaskSampler, NAMED_POINTS, Namespace, TEST_MASK_SEED, TRAIN_MASK_SEED,
    Task,
};
use scope_pde::{GridShape, Pde, cylinder::Disk};

fn seeds() -> u64 {
    std::env::var("SCOPE_MASK_SEEDS").map_or(1_000, |n| n.parse().unwrap())
}

/// The mask of a under `forward/family/budget`, for a record.
fn mask(shape: impl Into<GridShape>, family: Family, budget: usize, record: u64) -> Mask {
    let condition = Condition::new(Task::Forward, family, budget).unwrap();
    MaskSampler::new(Pde::POISSON, TEST_MASK_SEED, shape)
        .masks(Namespace::Test, record, condition, None)
        .seen
        .a
}

fn rows_and_columns(mask: &Mask) -> (Vec<usize>, Vec<usize>) {
    let grid = mask.shape();
    let mut counts = (vec![0; grid.rows], vec![0; grid.columns]);
    for point in mask.points() {
        let [i, j] = grid.place(point);
        counts.0[i] += 1;
        counts.1[j] += 1;
    }
    counts
}

#[test]
fn every_family_and_budget_has_its_exact_count() {
    let all: Vec<(Family, usize)> = Family::ALL
        .iter()
        .flat_map(|family| family.budgets().iter().map(|budget| (*family, *budget)))
        .collect();
    assert_eq!(all.len(), 25);
    all.into_par_iter().for_each(|(family, budget)| {
        for record in 0..seeds() {
            assert_eq!(mask(128, family, budget, record).count(), budget, "{family:?} {budget} {record}");
        }
        let rectangles = [[96, 160], [160, 96], [32, 256], [40, 64]].map(GridShape::from);
        for shape in [32, 34, 96, 160].map(GridShape::square).into_iter().chain(rectangles) {
            let points = family.points(budget, shape);
            for record in 0..8 {
                let count = mask(shape, family, budget, record).count();
                assert_eq!(count, points, "{family:?} {budget} on {shape}, record {record}");
            }
        }
    });
}

#[test]
fn families_take_any_number_of_points() {
    for family in [Family::UNIFORM, Family::CLUSTER, Family::LINES, Family::BLOCK] {
        for budget in [1, 2, 63, 64, 127, 128, 129, 8193, NAMED_POINTS - 1, NAMED_POINTS] {
            assert_eq!(mask(128, family, budget, 1).count(), budget, "{family:?} {budget}");
        }
        // A budget that rounds to nothing on a coarse grid still sees a point.
        assert_eq!(mask(32, family, 1, 1).count(), 1, "{family:?}");
    }
}

/// Each point is seen equally often: chi-square over all points, in standard deviations.
#[test]
fn uniform_masks_are_uniform() {
    let masks = 4 * seeds();
    for budget in [500, 8192, 12288] {
        let mut seen = vec![0f64; NAMED_POINTS];
        for record in 0..masks {
            mask(128, Family::UNIFORM, budget, record).points().for_each(|point| seen[point] += 1.0);
        }
        // Counts are binomial with a fixed total, so the statistic has N - 1 degrees of freedom.
        let share = budget as f64 / NAMED_POINTS as f64;
        let expected = masks as f64 * share;
        let variance = masks as f64 * share * (1.0 - share);
        let points = NAMED_POINTS as f64;
        let chi_square: f64 = seen.iter().map(|n| (n - expected).powi(2) / variance).sum::<f64>();
        let z = (chi_square - points) / (2.0 * points).sqrt();
        assert!(z.abs() < 4.0, "budget {budget}: {z}");
    }
}

#[test]
fn grids_are_cartesian_with_the_stated_shapes() {
    let shapes = [[20, 25], [32, 32], [32, 64], [64, 64], [64, 128], [96, 128], [128, 128]];
    for (budget, shape) in Family::GRID.budgets().iter().zip(shapes) {
        let mut swapped = HashSet::new();
        for record in 0..64 {
            let mask = mask(128, Family::GRID, *budget, record);
            let (rows, columns) = rows_and_columns(&mask);
            let lines = |counts: &[usize]| counts.iter().filter(|count| **count > 0).count();
            let found = [lines(&rows), lines(&columns)];
            assert!(found == shape || found == [shape[1], shape[0]], "{budget}: {found:?}");
            swapped.insert(found);
            // A product of rows and columns: every used row has every used column.
            assert!(rows.iter().all(|count| *count == 0 || *count == found[1]));
            let used: Vec<usize> = (0..128).filter(|i| rows[*i] > 0).collect();
            let gaps: Vec<usize> = used.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let least = gaps.iter().min().unwrap();
            let most = gaps.iter().max().unwrap();
            assert!(most - least <= 1, "rows are evenly spread");
        }
        assert_eq!(swapped.len(), if shape[0] == shape[1] { 1 } else { 2 }, "both orientations occur");
    }
}

#[test]
fn lines_are_whole_but_for_one() {
    let mut orientations = HashSet::new();
    for record in 0..200 {
        for budget in [4915, 9830] {
            let (rows, columns) = rows_and_columns(&mask(128, Family::LINES, budget, record));
            let whole = |counts: &[usize]| counts.iter().filter(|count| **count == 128).count();
            let (lines, is_row) = if whole(&rows) == budget / 128 { (rows, true) } else { (columns, false) };
            orientations.insert(is_row);
            assert_eq!(whole(&lines), budget / 128);
            let partial: Vec<usize> = lines.into_iter().filter(|n| ![0, 128].contains(n)).collect();
            assert_eq!(partial, [budget % 128]);
        }
    }
    assert_eq!(orientations.len(), 2);
}

/// The bounding box of a block that the grid does not cut has the stated aspect, and all but its rim is
/// filled.
#[test]
fn blocks_are_rectangles_of_the_stated_aspect() {
    let mut uncut = 0;
    for record in 0..400 {
        let mask = mask(128, Family::BLOCK, 4915, record);
        let points: Vec<(usize, usize)> = mask.points().map(|point| (point / 128, point % 128)).collect();
        let top = points[0].0;
        let bottom = points[points.len() - 1].0;
        let left = points.iter().map(|point| point.1).min().unwrap();
        let right = points.iter().map(|point| point.1).max().unwrap();
        for i in top + 1..bottom {
            for j in left + 1..right {
                assert!(mask.contains(i * 128 + j), "record {record} has a hole at ({i}, {j})");
            }
        }
        if top > 0 && left > 0 && bottom < 127 && right < 127 {
            uncut += 1;
            let height = (bottom - top + 1) as f64;
            let width = (right - left + 1) as f64;
            // One pixel on either side is rounding.
            assert!((height - 2.0) / (width + 2.0) < 1.5 && (height + 2.0) / (width - 2.0) > 2.0 / 3.0);
            let centre = [(top + bottom) as f64 / 2.0 / 128.0, (left + right) as f64 / 2.0 / 128.0];
            assert!(centre.iter().all(|c| (0.18..0.82).contains(c)), "{centre:?}");
        }
    }
    assert!(uncut > 20, "{uncut}");
}

/// Clusters crowd: within a tenth of the domain of an observed point there are more points than uniform
/// masks have.
#[test]
fn clusters_crowd() {
    let crowding = |family| {
        let total: usize = (0..40)
            .map(|record| {
                let mask = mask(128, family, 500, record);
                let points: Vec<usize> = mask.points().collect();
                let near = |p: &usize, q: &usize| {
                    (p / 128).abs_diff(q / 128).pow(2) + (p % 128).abs_diff(q % 128).pow(2) < 13 * 13
                };
                points.iter().map(|p| points.iter().filter(|q| near(p, q)).count()).sum::<usize>()
            })
            .sum();
        total as f64
    };
    let ratio = crowding(Family::CLUSTER) / crowding(Family::UNIFORM);
    assert!(ratio > 1.8, "{ratio}");
}

#[test]
fn masks_depend_on_their_coordinates_and_nothing_else() {
    let sampler = MaskSampler::new(Pde::DARCY, TRAIN_MASK_SEED, 128);
    let condition: Condition = "joint/uniform/500".parse().unwrap();
    let train = |draw| Namespace::Train { draw };
    let base = sampler.masks(train(0), 9, condition, None);
    assert_eq!(sampler.masks(train(0), 9, condition, None), base);
    assert_ne!(base.seen.a, base.seen.u, "channels have streams of their own");
    let others = [
        sampler.masks(train(1), 9, condition, None),
        sampler.masks(Namespace::Test, 9, condition, None),
        sampler.masks(train(0), 10, condition, None),
        MaskSampler::new(Pde::POISSON, TRAIN_MASK_SEED, 128).masks(train(0), 9, condition, None),
        MaskSampler::new(Pde::DARCY, 1, 128).masks(train(0), 9, condition, None),
    ];
    assert!(others.iter().all(|other| other.seen.a != base.seen.a && other.seen.u != base.seen.u));
    let forward = sampler.masks(train(0), 9, "forward/uniform/500".parse().unwrap(), None);
    assert_ne!(forward.seen.a, base.seen.a, "tasks have streams of their own");
    // From any thread and in any order.
    let all: Vec<_> =
        (0..64u64).into_par_iter().map(|n| sampler.masks(train(0), n, condition, None)).collect();
    for n in (0..64).rev() {
        assert_eq!(all[n], sampler.masks(train(0), n as u64, condition, None));
    }
}

#[test]
fn tasks_observe_their_channels_and_the_disk() {
    let sampler = MaskSampler::new(Pde::CYLINDER, TEST_MASK_SEED, 128);
    let disk = Disk { cx: 41.0, cy: 63.0, r: 10.0 };
    let inside = Mask::from_fn(128, |i, j| disk.contains(i, j));
    for (text, a, u) in
        [("forward/uniform/500", 500, 0), ("inverse/grid/2048", 0, 2048), ("joint/block/4915", 4915, 4915)]
    {
        let condition = text.parse().unwrap();
        let plain = sampler.masks(Namespace::Test, 3, condition, None);
        assert_eq!((plain.seen.a.count(), plain.seen.u.count()), (a, u), "{text}");
        let known = sampler.masks(Namespace::Test, 3, condition, Some(&disk.into()));
        let united = |mut mask: Mask| {
            mask.unite(&inside);
            mask
        };
        assert_eq!((known.seen.a, known.seen.u), (united(plain.seen.a), united(plain.seen.u)), "{text}");
    }
}

#[test]
fn the_benchmark_sees_one_fluid_pixel_in_a_hundred() {
    let sampler = MaskSampler::new(Pde::CYLINDER, TEST_MASK_SEED, 128);
    let condition: Condition = "inverse/benchmark_uniform/100".parse().unwrap();
    assert_eq!(condition.layout(), Layout::BenchmarkUniform);
    let masks = 400u64;
    let total: usize =
        (0..masks).map(|n| sampler.masks(Namespace::Test, n, condition, None).seen.u.count()).sum();
    let mean = total as f64;
    let points = (masks * 16384) as f64;
    assert!((mean - 0.01 * points).abs() < 4.0 * (0.01 * 0.99 * points).sqrt(), "{mean}");
}

#[test]
fn the_auxiliary_study_shows_both_tasks_the_same_pixels_and_hides_the_other_field() {
    let disk = Disk { cx: 41.0, cy: 63.0, r: 10.0 };
    let sampler = MaskSampler::new(Pde::CYLINDER, 12_345, 128);
    let [forward, inverse] = [Task::Forward, Task::Inverse].map(|task| Condition::bernoulli(task).unwrap());
    let seen = |namespace, record, condition| sampler.masks(namespace, record, condition, Some(&disk.into()));
    let mut total = 0;
    for record in 0..100 {
        let [one, other] = [forward, inverse].map(|condition| seen(Namespace::Test, record, condition));
        assert_eq!(one.seen.a, other.seen.u);
        // Not even the disk is known of the hidden field.
        assert_eq!([one.seen.u.count(), other.seen.a.count(), one.given.count()], [0; 3]);
        total += one.seen.a.count();
    }
    let points = 100.0 * 16384.0;
    assert!((total as f64 - 0.03 * points).abs() < 4.0 * (0.03 * 0.97 * points).sqrt(), "{total}");
    let drawn = |draw| seen(Namespace::Train { draw }, 7, forward).seen.a;
    assert!((1..5).all(|draw| drawn(draw) == drawn(0)) && (6..10).all(|draw| drawn(draw) == drawn(5)));
    assert_ne!(drawn(4), drawn(5));
}

/// Golden hashes: BLAKE3 of the words of the masks of a and u, little endian, at 128. `reference/masks.py`,
/// written from the description alone, prints the same. A change here changes every trained model's data.
#[test]
fn masks_are_frozen() {
    let golden = [
        ("joint/uniform/500", "5659a51c3175594c"),
        ("joint/uniform/12288", "9502a3f9548fab85"),
        ("joint/grid/500", "69052505be1ccabc"),
        ("joint/grid/12288", "d8634f18b61841f4"),
        ("joint/cluster/500", "6e32a2c4e80469c2"),
        ("joint/cluster/8192", "ad5a1cfe69b1c145"),
        ("joint/lines/4915", "5496d9dd67c12d62"),
        ("joint/block/9830", "518814d8672c324a"),
        ("forward/benchmark_uniform/100", "0018ac2cf56a46e3"),
    ];
    let mut found = Vec::new();
    for (text, expected) in golden {
        let sampler = MaskSampler::new(Pde::POISSON, TRAIN_MASK_SEED, 128);
        let masks = sampler.masks(Namespace::Train { draw: 3 }, 17, text.parse().unwrap(), None);
        let words = masks.seen.a.words().iter().chain(masks.seen.u.words());
        let bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        let hash = blake3::hash(&bytes).to_hex()[..16].to_string();
        found.push((text, expected, hash));
    }
    assert!(found.iter().all(|(_, expected, hash)| expected == hash), "{found:#?}");
}
