//! The limit of Darcy's forward task that docs/exact.md states: how well u and a can be known from points of a.
//!
//!     cargo run --release -p scope-exact --example darcy_limit -- 1000 forward/uniform/500
//!
//! Darcy's a tells the sign of a Gaussian field g, so that g at the sensors is normal within an orthant. Hamiltonian
//! dynamics with exact trajectories y cos t + v sin t that bounce off the walls y = 0 draw from it (Pakman, Paninski,
//! 2014), and a draw of the whole field follows by conditioning a prior one on it. Each gives an a and, through the
//! solver, a u. Their means are the best answers in mean square. Two chains a record show whether they have come to the
//! same distribution.

#![allow(clippy::print_stdout)]

use std::{
    error::Error,
    f64::consts::{FRAC_PI_2, PI},
};

use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use scope_data::observation::{Condition, MaskSampler, Namespace, TEST_MASK_SEED};
use scope_pde::{
    Generator, Identity, Pde, Record, Split,
    darcy::{Darcy, HIGH, LOW},
    linear::{ParityBasis, cholesky::Cholesky, matrix},
    random::{Coordinates, NeumannField, Stream},
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const SIZE: usize = 128;
/// The records that docs/RESULTS.md evaluates models on.
const SEED: u64 = 20_261_013;
/// Trajectories before the first draw, draws of each chain, and trajectories from one to the next.
const BURN_IN: usize = 100;
const DRAWS: usize = 100;
const BETWEEN: usize = 2;
/// A pressure beyond this is one of the rare fields whose interpolated permeability is near singular: means leave it
/// out.
const LARGEST: f64 = 0.03;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [count, condition] = &words[..] else {
        return Err("usage: darcy_limit COUNT CONDITION".into());
    };
    let condition: Condition = condition.parse()?;
    let generator =
        Generator::new(Identity { pde: Pde::DARCY, seed: SEED, split: Split::Test, resolution: SIZE })?;
    let sampler = MaskSampler::new(Pde::DARCY, TEST_MASK_SEED, SIZE);
    let limit = Limit { field: NeumannField::new(SIZE), darcy: Darcy::new(SIZE) };
    let scores: Vec<Score> = (0..count.parse::<u64>()?)
        .into_par_iter()
        .map(|record| {
            let masks = sampler.masks(Namespace::Test, record, condition, None);
            let sensors: Vec<usize> = masks.seen.a.points().collect();
            limit.score(record, &generator.record(record)?, &sensors)
        })
        .collect::<Outcome<_>>()?;
    println!("mean and standard error over {count} records under {condition}, in percent");
    let line = |what: &str, of: fn(&Score) -> f64| {
        println!("{what}: {}", mean_and_error(&scores.iter().map(of).collect::<Vec<f64>>()));
    };
    line("error of u", |score| score.error);
    line("error of u that the draws expect", |score| score.expected);
    line("wrong pixels of a", |score| score.wrong);
    line("means of u of two chains apart", |score| score.apart);
    Ok(())
}

/// Of one record, in percent.
struct Score {
    /// The relative L2 error of the mean of u.
    error: f64,
    /// The same, as the draws themselves expect it.
    expected: f64,
    /// The pixels at which the more probable value of a is the wrong one.
    wrong: f64,
    /// How far the means of two chains are from each other.
    apart: f64,
}

struct Limit {
    field: NeumannField,
    darcy: Darcy,
}

/// What the draws of a chain add up to.
struct Sums {
    u: Vec<f64>,
    high: Vec<f64>,
    draws: usize,
    /// Of |u|^2.
    squares: f64,
}

impl Limit {
    fn score(&self, record: u64, truth: &Record, sensors: &[usize]) -> Outcome<Score> {
        let known = self.known(truth, sensors)?;
        let chains: Vec<Sums> = (0..2)
            .map(|chain| known.chain(Coordinates::new("darcy limit").number(record).number(chain).stream()))
            .collect::<Outcome<_>>()?;
        let draws = (chains[0].draws + chains[1].draws) as f64;
        let mean = |of: fn(&Sums) -> &[f64]| -> Vec<f64> {
            of(&chains[0]).iter().zip(of(&chains[1])).map(|(x, y)| (x + y) / draws).collect()
        };
        let u = mean(|sums| &sums.u);
        let high = mean(|sums| &sums.high);
        let is_wrong = |(probability, a): &(&f64, &f64)| (**probability >= 0.5) != (**a == HIGH);
        let wrong = high.iter().zip(&truth.fields.a).filter(is_wrong).count();
        let square: f64 = u.iter().map(|x| x * x).sum();
        let variance = (chains[0].squares + chains[1].squares) / draws - square;
        Ok(Score {
            error: relative(&u, &truth.fields.u),
            expected: 100.0 * (variance / square).sqrt(),
            wrong: 100.0 * wrong as f64 / (SIZE * SIZE) as f64,
            apart: relative(&chains[0].u, &chains[1].u),
        })
    }

    /// What sensors of a say of g.
    fn known<'a>(&'a self, truth: &Record, sensors: &'a [usize]) -> Outcome<Known<'a>> {
        let n = sensors.len();
        let waves = self.waves(sensors);
        let rows = matrix::View::new(&waves, n, SIZE * SIZE);
        let mut covariance = vec![0.0; n * n];
        let into = matrix::ViewMut { data: &mut covariance, row_stride: n };
        matrix::multiply(rows, rows.transposed(), into);
        let factor = Cholesky::new(covariance.clone(), n).map_err(|_| "two sensors say the same")?;
        let sign = |p: &usize| if truth.fields.a[*p] == HIGH { 1.0 } else { -1.0 };
        let signs = sensors.iter().map(sign).collect();
        Ok(Known { limit: self, sensors, signs, waves, covariance, factor })
    }

    /// \[n, S^2\]: c_k phi_k at each sensor, so that their products are the covariance of g there.
    fn waves(&self, sensors: &[usize]) -> Vec<f64> {
        let basis: &ParityBasis = self.field.basis();
        let mut waves = Vec::with_capacity(sensors.len() * SIZE * SIZE);
        for p in sensors {
            let along = |i: usize| -> Vec<f64> { (0..SIZE).map(|k| basis.value(k, i)).collect() };
            let (rows, columns) = (along(p / SIZE), along(p % SIZE));
            let deviations = self.field.deviations();
            waves.extend((0..SIZE * SIZE).map(|k| deviations[k] * rows[k / SIZE] * columns[k % SIZE]));
        }
        waves
    }
}

/// The signs of g at the sensors, and its covariance there.
struct Known<'a> {
    limit: &'a Limit,
    sensors: &'a [usize],
    signs: Vec<f64>,
    waves: Vec<f64>,
    covariance: Vec<f64>,
    factor: Cholesky,
}

impl Known<'_> {
    fn chain(&self, mut stream: Stream) -> Outcome<Sums> {
        // Any field of the prior, turned over where it has the wrong sign, is within the walls.
        let prior = self.limit.field.draw(&mut stream);
        let mut state: Vec<f64> = self.sensors.iter().map(|p| prior[*p].abs()).collect();
        let pixels = SIZE * SIZE;
        let mut sums = Sums { u: vec![0.0; pixels], high: vec![0.0; pixels], draws: 0, squares: 0.0 };
        (0..BURN_IN).for_each(|_| self.travel(&mut state, &mut stream));
        while sums.draws < DRAWS {
            (0..BETWEEN).for_each(|_| self.travel(&mut state, &mut stream));
            let a: Vec<f64> =
                self.whole(&state, &mut stream).iter().map(|g| if *g >= 0.0 { HIGH } else { LOW }).collect();
            let u = self.limit.darcy.solve(&a)?;
            if u.iter().any(|u| u.abs() > LARGEST) {
                continue;
            }
            sums.high.iter_mut().zip(&a).for_each(|(sum, a)| *sum += f64::from(u8::from(*a == HIGH)));
            sums.squares += u.iter().map(|u| u * u).sum::<f64>();
            sums.u.iter_mut().zip(&u).for_each(|(sum, u)| *sum += u);
            sums.draws += 1;
        }
        Ok(sums)
    }

    /// A quarter of a revolution from the state with a fresh velocity; both are of signs times g, which is positive.
    fn travel(&self, state: &mut [f64], stream: &mut Stream) {
        let n = state.len();
        let normals: Vec<f64> = (0..n).map(|_| stream.sample(StandardNormal)).collect();
        let mut velocity: Vec<f64> = (0..n)
            .map(|i| self.signs[i] * self.factor.row(i).iter().zip(&normals).map(|(l, z)| l * z).sum::<f64>())
            .collect();
        let mut left = FRAC_PI_2;
        loop {
            // y cos t + v sin t = 0 for the first time at t = atan2(v, y) + pi / 2, as y >= 0.
            let hit = |i: usize| velocity[i].atan2(state[i]) + FRAC_PI_2;
            let (wall, time) = (0..n)
                .map(|i| (i, hit(i)))
                .min_by(|(_, one), (_, other)| one.total_cmp(other))
                .unwrap_or((0, PI));
            let (sin, cos) = time.min(left).sin_cos();
            for (y, v) in state.iter_mut().zip(&mut velocity) {
                (*y, *v) = ((*y * cos + *v * sin).max(0.0), *v * cos - *y * sin);
            }
            if time >= left {
                return;
            }
            left -= time;
            state[wall] = 0.0;
            let push = 2.0 * velocity[wall] / self.covariance[wall * n + wall];
            let row = &self.covariance[wall * n..][..n];
            for ((v, covariance), sign) in velocity.iter_mut().zip(row).zip(&self.signs) {
                *v -= push * sign * self.signs[wall] * covariance;
            }
            velocity[wall] = velocity[wall].abs();
        }
    }

    /// A draw of the whole field: a prior one, moved to the state at the sensors.
    fn whole(&self, state: &[f64], stream: &mut Stream) -> Vec<f64> {
        let mut field = self.limit.field.draw(stream);
        let mut weights: Vec<f64> =
            (0..state.len()).map(|i| self.signs[i] * state[i] - field[self.sensors[i]]).collect();
        self.factor.solve(&mut weights);
        let mut moved = vec![0.0; field.len()];
        for (weight, waves) in weights.iter().zip(self.waves.chunks_exact(field.len())) {
            moved.iter_mut().zip(waves).for_each(|(sum, wave)| *sum += weight * wave);
        }
        moved.iter_mut().zip(self.limit.field.deviations()).for_each(|(x, c)| *x *= c);
        self.limit.field.basis().synthesise_both(&mut moved, &mut Vec::new());
        field.iter_mut().zip(&moved).for_each(|(field, moved)| *field += moved);
        field
    }
}

fn relative(one: &[f64], other: &[f64]) -> f64 {
    let apart: f64 = one.iter().zip(other).map(|(x, y)| (x - y).powi(2)).sum();
    100.0 * (apart / other.iter().map(|y| y * y).sum::<f64>()).sqrt()
}

fn mean_and_error(values: &[f64]) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let spread = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    format!("{mean:.3} +- {:.3}", (spread / count).sqrt())
}
