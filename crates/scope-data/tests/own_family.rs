//! A sixth family of layouts, declared here and nowhere else: this is the proof of docs/add-a-mask-family.md.

use scope_data::{
    draw::Draw,
    observation::{
        Budget, Condition, Family, FamilyDescriptor, Layout, Mask, MaskSampler, Namespace, TRAIN_MASK_SEED,
        Task, scaled_points,
    },
    schedule::{BatchMaker, Schedule},
};
use scope_pde::{Pde, RegistryError, random::Stream};

/// Whole diagonals of a periodic grid, as a probe that is drawn across it would measure, and a part of one more.
static DIAGONAL: FamilyDescriptor = FamilyDescriptor {
    name: "diagonal",
    construction: || "whole diagonals, and a part of one more".to_owned(),
    budgets: &[512, 2048],
    training_budgets: &[512, 512, 2048],
    any_budget: true,
    takes_few: false,
    points: scaled_points,
    sample,
};

/// A name that conditions have for something else.
static FULL: FamilyDescriptor = FamilyDescriptor { name: "full", ..DIAGONAL };

/// Point k of the diagonals in random order, for k below the budget.
fn sample(mask: &mut Mask, budget: Budget, stream: &mut Stream) {
    let grid = mask.shape();
    let mut diagonals: Vec<usize> = (0..grid.columns).collect();
    stream.shuffle(&mut diagonals);
    for k in 0..budget.points {
        let row = k % grid.rows;
        mask.insert(grid.point(row, (row + diagonals[k / grid.rows]) % grid.columns));
    }
}

#[test]
fn a_family_of_ones_own_has_conditions_masks_and_a_place_in_a_schedule() {
    assert!("forward/diagonal/512".parse::<Condition>().is_err(), "it is not known yet");
    let diagonal = Family::declare(&DIAGONAL).unwrap();
    assert_eq!(Family::declare(&FULL), Err(RegistryError::Taken("full")));
    let condition: Condition = "forward/diagonal/512".parse().unwrap();
    assert_eq!(condition, Condition::new(Task::Forward, diagonal, 512).unwrap());

    // 512 points of 128 x 128 are four diagonals; on 32 x 32 points they are one.
    let masks =
        MaskSampler::new(Pde::POISSON, TRAIN_MASK_SEED, 32).masks(Namespace::Test, 0, condition, None);
    let columns: Vec<usize> =
        masks.seen.a.points().map(|point| (32 + point % 32 - point / 32) % 32).collect();
    assert_eq!(columns.len(), 32);
    assert!(columns.iter().all(|column| *column == columns[0]));

    let protocol = Condition::all(Pde::POISSON);
    assert!(protocol.iter().all(|condition| condition.layout_name() != "diagonal"), "the protocol stays");
    takes_its_turn(diagonal);
}

/// Every six batches hold each family once, and training budgets have their shares.
fn takes_its_turn(diagonal: Family) {
    let families: Vec<Family> = Family::ALL.into_iter().chain([diagonal]).collect();
    let schedule = || Schedule::new(1, 100, 4).of_families(families.clone());
    let met = |number: u64| match schedule().condition(number).layout() {
        Layout::Family(family, budget) => (family, budget),
        other => panic!("{other:?} is no family"),
    };
    let batches: Vec<(Family, usize)> = (0..6 * 30).map(met).collect();
    for cycle in batches.chunks(6) {
        let mut seen: Vec<Family> = cycle.iter().map(|(family, _)| *family).collect();
        seen.sort();
        assert_eq!(seen, families, "declared families come after those of the protocol");
    }
    let sparse = batches.iter().filter(|met| **met == (diagonal, 512)).count();
    assert_eq!(sparse, 20, "512 stands twice among three training budgets");

    let sampler = MaskSampler::new(Pde::POISSON, TRAIN_MASK_SEED, 32);
    let maker = BatchMaker { schedule: schedule(), sampler, regions: Vec::new(), shape: 32.into() };
    let number = batches.iter().position(|(family, _)| *family == diagonal).unwrap();
    assert_eq!(maker.batch(number as u64).condition.layout_name(), "diagonal");
}
