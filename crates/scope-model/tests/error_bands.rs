//! Error bands in a card, and the bands of sensors.

use std::path::Path;

use scope_data::{
    Channel, PerChannel,
    observation::{Condition, ContextMasks, Coverage, Mask, MaskSampler, Namespace, Task},
};
use scope_model::{
    Card,
    bands::{
        AXIS_CELLS, Arrangement, Bands, ChannelBands, DISTANCE_CELLS, LayoutBands, Misfits, NoBands,
        axis_cells,
    },
};
use scope_pde::{Pde, cylinder::Disk};

const SIZE: usize = 64;
/// Bands that do not follow misfits ask for none.
const NO_MISFIT: Misfits = PerChannel { a: None, u: None };

/// Masks of a condition; its sensors are a quarter of those named for 128 x 128.
fn masks(condition: &str) -> ContextMasks {
    let condition: Condition = condition.parse().unwrap();
    MaskSampler::new(Pde::POISSON, 3, SIZE).masks(Namespace::Test, 0, condition, None)
}

fn channel(task: Task, widths: [Vec<f64>; 2]) -> ChannelBands {
    let rising = |count: usize| (0..count).map(|k| 1.0 + k as f64).collect::<Vec<f64>>();
    let PerChannel { a, u } = task.observes();
    ChannelBands {
        widths,
        along_x: rising(AXIS_CELLS),
        along_y: vec![1.0; AXIS_CELLS],
        from_a: a.then(|| rising(DISTANCE_CELLS)),
        from_u: u.then(|| rising(DISTANCE_CELLS)),
        by_misfit_of_a: None,
        by_misfit_of_u: None,
    }
}

/// Widths 1 and 2 with the fewer sensors of a layout, a quarter of that with four times as many.
fn layout(task: Task, name: &str, budgets: [usize; 2]) -> LayoutBands {
    let masks = budgets.map(|budget| {
        let masks = masks(&format!("{}/{name}/{budget}", task.name()));
        if task == Task::Inverse { masks.seen.u } else { masks.seen.a }
    });
    let coverage = masks.each_ref().map(|mask| Coverage::of(mask).unwrap());
    let typical = [0, 1].map(|k| Arrangement::typical(&[Arrangement::of(&masks[k], &coverage[k])]));
    let widths = || [vec![1.0, 0.25], vec![2.0, 0.5]];
    LayoutBands {
        sensors: coverage.map(|coverage| coverage.sensors).to_vec(),
        // Of one mask; others of the layout may have somewhat wider ones.
        mean_gap: coverage.map(|coverage| 1.1 * coverage.mean_gap).to_vec(),
        largest_gap: coverage.map(|coverage| 1.5 * coverage.largest_gap).to_vec(),
        typical: [0, 1, 2].map(|k| typical.map(|numbers| numbers[k][0]).to_vec()),
        spread: [0.1, 0.4, 0.1].map(|spread| vec![spread; 2]),
        misfit_of_a: None,
        misfit_of_u: None,
        a: channel(task, widths()),
        u: channel(task, widths()),
    }
}

fn bands() -> Bands {
    let layouts = [(Task::Inverse, "uniform"), (Task::Inverse, "cluster"), (Task::Joint, "uniform")];
    let of =
        |(task, name): (Task, &str)| (format!("{}/{name}", task.name()), layout(task, name, [1024, 4096]));
    Bands {
        levels: [0.68, 0.95],
        records: 300,
        shape_records: 100,
        origin: "made up".into(),
        blake3: "0".into(),
        mask_seed: 3,
        smooth: false,
        layouts: layouts.map(of).into(),
    }
}

#[test]
fn widths_follow_sensors_and_places() {
    let bands = bands();
    let masks = masks("inverse/uniform/2048");
    let found = bands.of(Task::Inverse, &masks, &NO_MISFIT).unwrap();
    assert_eq!((found.like.as_str(), found.between), ("inverse/uniform", [256, 1024]));
    let axis = axis_cells(SIZE);
    for (level, widths) in [1.0, 2.0].iter().zip(&found.half_widths) {
        for point in masks.seen.u.points() {
            // Twice the fewer sensors, half the more: halfway by a power law. A sensor's own pixel is in the first cell
            // of distance.
            let expected = (level * 0.5 * (1.0 + axis[point / SIZE] as f64)) as f32;
            assert!((widths.a[point] - expected).abs() < 1e-5 * expected);
            assert_eq!(widths.a[point], widths.u[point]);
        }
        let seen = |point: &usize| masks.seen.u.contains(*point);
        assert!(
            (0..SIZE * SIZE)
                .filter(|point| !seen(point))
                .all(|point| { widths.a[point] > (level * 0.5 * (1.0 + axis[point / SIZE] as f64)) as f32 })
        );
    }
}

#[test]
fn sensors_are_taken_for_the_layout_that_they_are_like() {
    let bands = bands();
    let like = |condition: &str| bands.of(Task::Inverse, &masks(condition), &NO_MISFIT).unwrap().like;
    assert_eq!(like("inverse/uniform/1500"), "inverse/uniform");
    assert_eq!(like("inverse/cluster/1024"), "inverse/cluster");
    // Sensors on a grid are spread more evenly than any that were measured: rather too wide a band than none.
    assert_eq!(like("inverse/grid/2048"), "inverse/uniform");
    // Slightly fewer or more than any that were measured.
    let few = bands.of(Task::Inverse, &masks("inverse/uniform/960"), &NO_MISFIT).unwrap();
    assert_eq!(few.between, [256, 256]);
}

/// A sensor in the disk tells nothing that is not known, and is none.
#[test]
fn a_known_disk_is_no_sensors_and_leaves_no_gap() {
    let bands = bands();
    let disk = Disk { cx: 20.0, cy: 30.0, r: 6.0 };
    let plain = masks("inverse/uniform/2048");
    let mut masks = masks("inverse/uniform/2048");
    masks.add_region(&disk.into(), PerChannel::both(true));
    let [without, with] = [&plain, &masks].map(|masks| bands.of(Task::Inverse, masks, &NO_MISFIT).unwrap());
    assert_eq!((without.like.as_str(), without.between), (with.like.as_str(), with.between));
    let inside: Vec<usize> = disk.points(SIZE).collect();
    let sensors = masks.sensors(Channel::U);
    assert!(masks.seen.u.count() > plain.seen.u.count() && sensors.count() < plain.seen.u.count());
    assert!(inside.iter().all(|point| masks.seen.u.contains(*point) && !sensors.contains(*point)));
    let centre = 20 * SIZE + 30;
    assert!(with.half_widths[0].u[centre] < without.half_widths[0].u[centre]);
    masks.seen.u = masks.given.clone();
    let none = bands.of(Task::Inverse, &masks, &NO_MISFIT).unwrap_err();
    assert_eq!(none, NoBands::Sensors { sensors: 0, fewest: 256, most: 1024 });
}

/// A recovery that is further from its readings than usual has wider bands, by the power of the card; bands on lines
/// between the centres of cells rise where those of whole cells stay.
#[test]
fn bands_follow_the_misfit_and_are_smooth() {
    let mut bands = bands();
    let masks = masks("inverse/uniform/1024");
    let whole = bands.of(Task::Inverse, &masks, &NO_MISFIT).unwrap();
    let layout = bands.layouts.get_mut("inverse/uniform").unwrap();
    layout.misfit_of_u = Some(vec![0.1, 0.01]);
    layout.a.by_misfit_of_u = Some(0.5);
    layout.u.by_misfit_of_u = Some(0.0);
    bands.check().unwrap();
    let widened = |misfit| {
        let misfits = PerChannel { a: None, u: Some(misfit) };
        bands.of(Task::Inverse, &masks, &misfits).unwrap().half_widths
    };
    assert_eq!(widened(0.1), whole.half_widths);
    let [four_times, ..] = widened(0.4);
    assert_eq!(four_times.u, whole.half_widths[0].u);
    assert!(four_times.a.iter().zip(&whole.half_widths[0].a).all(|(x, y)| (x / y - 2.0).abs() < 1e-5));
    assert_eq!(widened(1e3), widened(1e4), "beyond what anything says");
    bands.smooth = true;
    let smooth = &bands.of(Task::Inverse, &masks, &NO_MISFIT).unwrap().half_widths[0].a;
    let column = |field: &[f32]| (1..SIZE / 2).filter(|i| field[i * SIZE] != field[(i - 1) * SIZE]).count();
    assert!(column(smooth) > column(&whole.half_widths[0].a));
    for (smooth, whole) in smooth.iter().zip(&whole.half_widths[0].a) {
        assert!((0.3..3.0).contains(&(smooth / whole)), "{smooth} {whole}");
    }
}

/// Where every point is measured, layouts are the same.
#[test]
fn shipped_bands_tell_the_layouts_of_the_protocol_apart() {
    let bands = shipped().bands.unwrap();
    let sampler = MaskSampler::new(Pde::POISSON, 5, 128);
    let partial = Condition::all(Pde::POISSON).into_iter().filter(|condition| condition.budget() < 128 * 128);
    for condition in partial {
        let own = format!("{}/{}", condition.task().name(), condition.layout_name());
        let like = |record| {
            let masks = sampler.masks(Namespace::Test, record, condition, None);
            bands.of(condition.task(), &masks, &NO_MISFIT).map(|bands| bands.like)
        };
        let right = (0..8).filter(|record| like(*record).as_ref() == Ok(&own)).count();
        assert!(right >= 7, "{condition}: {right} of 8 masks were taken for their own layout");
    }
}

#[test]
fn beyond_what_was_measured_there_are_no_bands() {
    let bands = bands();
    let none = |task, masks: &ContextMasks| bands.of(task, masks, &NO_MISFIT).unwrap_err();
    assert_eq!(none(Task::Forward, &masks("forward/uniform/1024")), NoBands::Task("forward"));
    let numbers = |sensors| NoBands::Sensors { sensors, fewest: 256, most: 1024 };
    assert_eq!(none(Task::Inverse, &masks("inverse/uniform/500")), numbers(125));
    assert_eq!(none(Task::Inverse, &masks("inverse/uniform/8192")), numbers(2048));
    assert_eq!(none(Task::Inverse, &ContextMasks::empty(SIZE)), numbers(0));
    // All in one half of the square.
    let mut half = ContextMasks::empty(SIZE);
    half.seen.u = Mask::from_fn(SIZE, |i, j| i < SIZE / 2 && (i + j) % 4 == 0);
    let gaps = none(Task::Inverse, &half);
    assert!(matches!(gaps, NoBands::Gaps { .. }) && gaps.to_string().contains("wider gaps"), "{gaps}");
    let mut unequal = masks("inverse/uniform/4096");
    unequal.seen.a = masks("forward/uniform/1024").seen.a;
    assert_eq!(none(Task::Joint, &unequal), NoBands::Unequal { a: 256, u: 1024 });
    assert!(bands.of(Task::Joint, &masks("joint/uniform/1024"), &NO_MISFIT).is_ok());
}

fn shipped() -> Card {
    Card::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/poisson.toml")).unwrap()
}

/// The shipped card with other bands.
fn card(bands: Bands) -> Card {
    Card { bands: Some(bands), ..shipped() }
}

#[test]
fn a_card_keeps_its_bands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poisson.toml");
    let card = card(bands());
    card.write(&path).unwrap();
    assert_eq!(Card::read(&path).unwrap(), card);
}

#[test]
fn bands_that_make_no_sense_are_refused() {
    let refused = |change: &dyn Fn(&mut Bands)| {
        let mut bands = bands();
        change(&mut bands);
        let text = toml::to_string(&card(bands)).unwrap();
        let told = Card::parse(Path::new("poisson.toml"), &text).unwrap_err().to_string();
        assert!(told.contains("poisson.toml is not a usable model card"), "{told}");
        told
    };
    fn first(bands: &mut Bands) -> &mut LayoutBands {
        bands.layouts.get_mut("inverse/cluster").unwrap()
    }
    assert!(refused(&|b| b.levels = [0.95, 0.68]).contains("levels must rise between 0 and 1"));
    assert!(refused(&|b| first(b).sensors = vec![1024, 256]).contains("sensors must be positive and rise"));
    assert!(refused(&|b| first(b).mean_gap.clear()).contains("mean_gap must have 2 numbers, not 0"));
    assert!(refused(&|b| first(b).a.widths[0][1] = f64::NAN).contains("holds NaN"));
    assert!(refused(&|b| first(b).u.widths[0][1] = -1.0).contains("holds -1"));
    assert!(refused(&|b| first(b).a.widths[0][1] = 9.0).contains("second level no narrower"));
    assert!(refused(&|b| first(b).a.along_x.truncate(13)).contains("along_x must have 14 numbers, not 13"));
    assert!(refused(&|b| first(b).a.from_u = None).contains("from_u is missing, and inverse measures it"));
    assert!(refused(&|b| first(b).a.from_a = Some(Vec::new())).contains("does not measure it"));
    assert!(refused(&|b| first(b).misfit_of_a = Some(vec![1.0; 2])).contains("does not measure it"));
    assert!(
        refused(&|b| first(b).misfit_of_u = Some(vec![1.0, 0.0])).contains("must be positive, and holds 0")
    );
    assert!(refused(&|b| first(b).misfit_of_u = Some(vec![1.0; 2])).contains("by_misfit_of_u is missing"));
    assert!(refused(&|b| first(b).a.by_misfit_of_u = Some(0.5)).contains("is there, and no usual misfit"));
    let renamed = refused(&|b| {
        let layout = b.layouts["inverse/cluster"].clone();
        b.layouts.insert("inverse/hexagons".into(), layout);
    });
    assert!(renamed.contains("\"inverse/hexagons\" is no task and layout"));
}
