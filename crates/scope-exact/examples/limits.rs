//! The limits that docs/exact.md states: errors and calibration of the exact posterior on fresh test records.
//!
//!     cargo run --release -p scope-exact --example limits -- poisson 1000 forward/uniform/500 inverse/uniform/500
//!
//! Coverage is over all pixels that the prior leaves uncertain. `--errors-only` leaves it out.

#![allow(clippy::print_stdout)]

use std::{error::Error, time::Instant};

use rayon::prelude::*;
use scope_data::{
    Channel, Constants, Fields, PerChannel,
    observation::{Condition, MaskSampler, Namespace, TEST_MASK_SEED, write_context},
};
use scope_exact::{FieldPrior, Prior, readings, rounding_noise};
use scope_pde::{Generator, Identity, Pde, Split};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Of one field: its error, and the shares of pixels within one and two standard deviations, in percent.
#[derive(Clone, Copy)]
struct Score {
    error: f64,
    within: Option<[f64; 2]>,
}

struct Task {
    prior: Prior,
    generator: Generator,
    condition: Condition,
    calibrate: bool,
}

fn main() -> Outcome<()> {
    let (flags, words): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let [pde, count, conditions @ ..] = &words[..] else {
        return Err("usage: limits PDE COUNT CONDITION... [--errors-only]".into());
    };
    let pde: Pde = pde.parse()?;
    let count: u64 = count.parse()?;
    println!("condition, records, field, error %, within one and two standard deviations %");
    for condition in conditions {
        let identity = Identity { pde, seed: 1, split: Split::Test, resolution: 128 };
        let task = Task {
            prior: Prior::new(pde, 128)?,
            generator: Generator::new(identity)?,
            condition: condition.parse()?,
            calibrate: !flags.contains(&"--errors-only".to_owned()),
        };
        task.report(count)?;
    }
    Ok(())
}

impl Task {
    fn report(&self, count: u64) -> Outcome<()> {
        let begun = Instant::now();
        let scores: Vec<PerChannel<Score>> =
            (0..count).into_par_iter().map(|record| self.score(record)).collect::<Outcome<_>>()?;
        for channel in Channel::BOTH {
            let of = |pick: &dyn Fn(&Score) -> Option<f64>| {
                let values: Vec<f64> = scores.iter().filter_map(|score| pick(&score[channel])).collect();
                mean_and_error(&values)
            };
            let error = of(&|score| Some(score.error));
            let one = of(&|score| score.within.map(|within| within[0]));
            let two = of(&|score| score.within.map(|within| within[1]));
            println!("{}, {count}, {}, {error}, {one}, {two}", self.condition, channel.name());
        }
        println!("{:.3} s a record", begun.elapsed().as_secs_f64() / count as f64);
        Ok(())
    }

    fn score(&self, index: u64) -> Outcome<PerChannel<Score>> {
        let pde = self.prior.pde();
        let record = self.generator.record(index)?;
        let constants = Constants::generated(pde);
        let sampler = MaskSampler::new(pde, TEST_MASK_SEED, 128);
        let masks = sampler.masks(Namespace::Test, index, self.condition, None);
        let stored = PerChannel::from_fn(|channel| -> Vec<f32> {
            record.fields[channel].iter().map(|x| constants[channel].store(*x)).collect()
        });
        let mut context = vec![0.0; 4 * stored.a.len()];
        write_context(stored.each_ref().map(Vec::as_slice), &masks.seen, &mut context);
        let posterior = self.prior.given(&readings(&context, 128, &constants), rounding_noise(&constants))?;
        let mean = posterior.mean()?;
        let sd = if self.calibrate { Some(posterior.deviations(index)?.fields) } else { None };
        Ok(PerChannel::from_fn(|channel| {
            let mean = &mean[channel];
            let truth = &record.fields[channel];
            let within =
                |sd: &Fields<f64>| [1.0, 2.0].map(|width| coverage(mean, truth, &sd[channel], width));
            Score { error: relative_error(mean, truth), within: sd.as_ref().map(within) }
        }))
    }
}

fn relative_error(mean: &[f64], truth: &[f64]) -> f64 {
    let apart: f64 = mean.iter().zip(truth).map(|(x, y)| (x - y).powi(2)).sum();
    100.0 * (apart / truth.iter().map(|y| y * y).sum::<f64>()).sqrt()
}

/// The share in percent of uncertain pixels whose truth lies within so many standard deviations.
fn coverage(mean: &[f64], truth: &[f64], sd: &[f64], width: f64) -> f64 {
    let uncertain = || mean.iter().zip(truth).zip(sd).filter(|(_, sd)| **sd > 0.0);
    let inside = uncertain().filter(|((x, y), sd)| (*x - *y).abs() <= width * **sd).count();
    100.0 * inside as f64 / uncertain().count().max(1) as f64
}

fn mean_and_error(values: &[f64]) -> String {
    if values.is_empty() {
        return "-".to_owned();
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let spread = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    format!("{mean:.4} +- {:.4}", (spread / count).sqrt())
}
