//! How many pixels lie within a model's error bands, under any conditions: also for numbers of sensors between those
//! that the bands were measured for.
//!
//!     cargo run --release -p scope-eval --example coverage -- models/poisson.safetensors data/poisson-test 500 inverse/uniform/700
//!
//! Two conditions joined by "+" are seen together, as in forward/uniform/1024+inverse/uniform/700.

#![allow(clippy::print_stdout)]

use std::{error::Error, path::Path};

use scope_data::{
    Dataset, PerChannel,
    observation::{Condition, ContextMasks, MaskSampler, Namespace, TEST_MASK_SEED, write_context},
};
use scope_engine::Device;
use scope_eval::{Summary, trust::task_of};
use scope_model::{
    Catalogue, Fields, Precision, Reconstructor,
    bands::{Bands, misfits},
};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [model, data, count, conditions @ ..] = &words[..] else {
        return Err("usage: coverage MODEL DATA RECORDS CONDITION...".into());
    };
    let found = Catalogue::default().find(model)?;
    let bands = found.card.as_ref().and_then(|card| card.bands.as_ref());
    let bands = bands.ok_or("the model's card has no error bands: run scope model calibrate")?;
    let model = Reconstructor::from_file(found.open()?, &Device::all_threads(), Precision::F32)?;
    let data = Dataset::open(Path::new(data))?;
    let count = data.len().min(count.parse()?);
    println!("condition, records with bands, then for 68% and 95%: pixels of a and of u within, in percent");
    for name in conditions {
        let mut within: [Vec<Option<f64>>; 4] = Default::default();
        for record in 0..count {
            let masks = seen(&data, record, name)?;
            let shares = shares(&model, bands, &data, record, &masks)?;
            within.iter_mut().enumerate().for_each(|(k, all)| all.push(shares.map(|shares| shares[k])));
        }
        let shown = within.each_ref().map(|shares| {
            let summary = Summary::of(shares);
            match summary.mean.zip(summary.standard_error()).zip(summary.sd) {
                Some(((mean, error), sd)) => format!("{mean:.1} +- {error:.1} (sd {sd:.1})"),
                None => "-".to_owned(),
            }
        });
        println!("{name}, {}, {}", within[0].iter().flatten().count(), shown.join(", "));
    }
    Ok(())
}

/// What is seen of a record under conditions joined by "+".
fn seen(data: &Dataset, record: usize, name: &str) -> Outcome<ContextMasks> {
    let pde = data.meta().pde;
    let size = data.meta().resolution;
    let mut all = ContextMasks::empty(size);
    for condition in name.split('+') {
        let condition: Condition = condition.parse()?;
        let sampler = MaskSampler::new(pde, TEST_MASK_SEED, size);
        let masks = sampler.masks(Namespace::Test, record as u64, condition, data.region(record));
        all.seen.a.unite(&masks.seen.a);
        all.seen.u.unite(&masks.seen.u);
        all.given.unite(&masks.given);
    }
    Ok(all)
}

/// Percentages of pixels within: of a and of u at the first level, then at the second; none where there are no bands.
fn shares(
    model: &Reconstructor,
    bands: &Bands,
    data: &Dataset,
    record: usize,
    masks: &ContextMasks,
) -> Outcome<Option<[f64; 4]>> {
    let task = task_of(&masks.seen).ok_or("nothing is seen")?;
    let pair = data.pair(record)?;
    let meta = data.meta();
    let mut context = vec![0.0; 4 * pair.a().len()];
    write_context(pair.fields(), &masks.seen, &mut context);
    let fields = model.recover(&context)?.remove(0);
    let points = pair.a().len();
    let readings = PerChannel { a: &context[..points], u: &context[2 * points..3 * points] };
    let misfits = misfits(&meta.constants(), task, masks, readings, &fields);
    let Ok(bands) = bands.of(task, masks, &misfits) else { return Ok(None) };
    let share = |field: &[f32], stored: &[f32], widths: &[f32], scaling: scope_data::Scaling| {
        let inside =
            |k: &usize| (f64::from(field[*k]) - scaling.physical(stored[*k])).abs() <= f64::from(widths[*k]);
        100.0 * (0..field.len()).filter(inside).count() as f64 / field.len() as f64
    };
    let both = |widths: &Fields| {
        [
            share(&fields.a, pair.a(), &widths.a, meta.a.scaling()),
            share(&fields.u, pair.u(), &widths.u, meta.u.scaling()),
        ]
    };
    let [[a, u], [wide_a, wide_u]] = bands.half_widths.each_ref().map(both);
    Ok(Some([a, u, wide_a, wide_u]))
}
