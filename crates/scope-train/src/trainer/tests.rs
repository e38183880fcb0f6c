//! What steps over several devices must show, with threads of one process in the place of GPUs.

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use scope_data::PerChannel;
use scope_engine::{Device, DeviceGroup, EngineError, Gradients, Muon, Params, Tensor};
use scope_model::{DecoderConfig, FitConfig, Model, ModelConfig, Preset, Transformer};
use scope_parallel::{Communicator, Division, ParallelError, Threads, all_gather, numbers_in};

use super::{gradients::CAP_SETS, *};

const BATCH: usize = 8;
const SIDE: usize = 32;

/// A rank's processor as one of several devices.
#[derive(Debug)]
struct OnThreads {
    ranks: Mutex<Threads>,
    /// Without, gradients stay what each rank's own rows give.
    reduces: bool,
    log: Log,
}

/// What was asked for, in order.
type Log = Arc<Mutex<Vec<String>>>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OnThreads {
    fn new(ranks: Threads, reduces: bool) -> Self {
        Self { ranks: Mutex::new(ranks), reduces, log: Log::default() }
    }

    fn all(&self, own: &[f32]) -> Vec<Vec<f32>> {
        let told = all_gather(&mut *locked(&self.ranks), bytemuck::cast_slice(own)).unwrap();
        told.iter().map(|bytes| numbers_in(bytes).collect()).collect()
    }
}

/// The mean of as many numbers of each of some ranks.
fn mean_of(all: &[Vec<f32>]) -> Vec<f32> {
    assert!(all.iter().all(|numbers| numbers.len() == all[0].len()), "all reduce the same");
    let mean = |k: usize| all.iter().map(|numbers| numbers[k]).sum::<f32>() / all.len() as f32;
    (0..all[0].len()).map(mean).collect()
}

impl DeviceGroup for OnThreads {
    fn rank(&self) -> usize {
        locked(&self.ranks).rank()
    }

    fn size(&self) -> usize {
        locked(&self.ranks).size()
    }

    fn mean(&self, tensor: Tensor) -> Result<Tensor, EngineError> {
        let mean = mean_of(&self.all(&tensor.to_vec::<f32>()?));
        Tensor::from_slice(tensor.device(), tensor.shape(), &mean)
    }

    fn mean_of_range(&self, flat: &mut Tensor, range: Range<usize>) -> Result<(), EngineError> {
        locked(&self.log).push(format!("{range:?}"));
        if !self.reduces {
            return Ok(());
        }
        let mut values = flat.to_vec::<f32>()?;
        let mean = mean_of(&self.all(&values[range.clone()]));
        values[range].copy_from_slice(&mean);
        flat.overwrite(&values)
    }

    fn gather(&self, tensor: &Tensor) -> Result<Tensor, EngineError> {
        let all = self.all(&tensor.to_vec::<f32>()?).concat();
        let mut shape = tensor.shape().to_vec();
        shape[0] *= self.size();
        Tensor::from_slice(tensor.device(), &shape, &all)
    }

    fn share(&self, params: &mut Params, shares: &[Vec<Range<usize>>]) -> Result<(), EngineError> {
        let flat = params.flat().to_vec::<f32>()?;
        let own: Vec<f32> =
            shares[self.rank()].iter().flat_map(|range| &flat[range.clone()]).copied().collect();
        for (share, values) in shares.iter().zip(self.all(&own)) {
            let mut rest = values.as_slice();
            for range in share {
                let (values, after) = rest.split_at(range.len());
                params.overwrite(range.clone(), values)?;
                rest = after;
            }
        }
        Ok(())
    }

    fn join(&self) -> Result<(), EngineError> {
        Ok(())
    }

    fn abort(&mut self) {
        locked(&self.log).push("left".to_owned());
    }
}

impl Drop for OnThreads {
    fn drop(&mut self) {
        locked(&self.log).push("gone".to_owned());
    }
}

/// What is trained, and how.
#[derive(Clone)]
struct Case {
    name: &'static str,
    objective: Objective,
    cap_every: u64,
    head: bool,
    fits: bool,
}

impl Case {
    const fn of(name: &'static str, objective: Objective) -> Self {
        Self { name, objective, cap_every: 1, head: false, fits: false }
    }

    /// Every kind of step: one view and two, capped and not, at every step and at some, of whole networks and of heads.
    fn all() -> Vec<Self> {
        // A floor that no latent reaches: its gradient is there in every step.
        let with_floor = |objective: Objective| Objective { std_floor: 10.0, ..objective };
        let uncapped = |objective: Objective| Objective { capped: false, ..objective };
        let full = with_floor(Objective::FULL);
        vec![
            Self::of("fo", Objective::FO),
            Self { fits: true, ..Self::of("fits", Objective::FO) },
            Self { head: true, ..Self::of("head", Objective::FO) },
            Self::of("pretrain", with_floor(Objective::PRETRAIN)),
            Self::of("fg", Objective::FG),
            Self::of("full", full),
            Self::of("full, idle", Objective { std_floor: 1e-9, ..Objective::FULL }),
            Self::of("pretrain, idle", Objective { std_floor: 1e-9, ..Objective::PRETRAIN }),
            Self { cap_every: 4, ..Self::of("full, cap every 4", full) },
            Self { cap_every: 4, ..Self::of("fjv, cap every 4", with_floor(Objective::FJV)) },
            Self { cap_every: 4, ..Self::of("fjvg, cap every 4", with_floor(Objective::FJVG)) },
            Self::of("joint", uncapped(full)),
            Self::of("joint fg", uncapped(Objective::FG)),
        ]
    }

    fn trainer(&self, muon: bool) -> Trainer {
        let fits = FitConfig {
            scales: vec![1.5],
            degree: 4,
            stride: 4,
            ridge: vec![1e-6, 1e-8],
            periodic: [false; 2],
            edges: PerChannel::default(),
        };
        let sizes = ModelConfig {
            latent: 16,
            encoder: Transformer { width: 32, depth: 1, heads: 2 },
            predictor: Transformer { width: 16, depth: 1, heads: 1 },
            decoder: DecoderConfig { mlp: vec![24], conv: vec![8] },
            fits: self.fits.then_some(fits),
            ..Preset::Tiny.config(SIDE)
        };
        let model = Model::initial(sizes, 3, &Device::cpu(1)).unwrap();
        let widths = DecoderConfig { mlp: vec![16], conv: vec![8] };
        let trainer = if self.head {
            Trainer::head(model, widths, View::Sparse, 5)
        } else {
            Trainer::scope(model, self.objective)
        };
        let mut trainer = trainer.unwrap();
        trainer.cap_every = self.cap_every;
        trainer.optimizer.muon = muon.then(Muon::default);
        trainer
    }
}

/// Some rows of a batch of waves, of which few points are seen.
fn examples(rows: Range<usize>) -> Examples {
    let pixels = SIDE * SIDE;
    let value = |k: usize| (k as f32 * 0.013).sin() * (1.0 + (k / (2 * pixels)) as f32);
    let fields: Vec<f32> = (rows.start * 2 * pixels..rows.end * 2 * pixels).map(value).collect();
    let seen = |k: usize| f32::from(u8::from(k.is_multiple_of(17)));
    let context = |field: &[f32]| -> Vec<f32> {
        field.iter().enumerate().map(|(k, x)| x * seen(k)).chain((0..pixels).map(seen)).collect()
    };
    let contexts: Vec<f32> = fields.chunks(pixels).flat_map(context).collect();
    let weights = vec![0.03; 2 * rows.len()];
    Examples::new(&Device::cpu(1), SIDE.into(), &fields, &contexts, &weights).unwrap()
}

/// What each of some ranks makes of its rows; `reduces` says whether gradients are reduced.
fn on_ranks<T: Send>(
    size: usize,
    reduces: bool,
    trainer: impl Fn() -> Trainer + Sync,
    work: impl Fn(Trainer, Examples) -> T + Sync,
) -> Vec<T> {
    let division = Division::new(size, size).unwrap();
    let (trainer, work) = (&trainer, &work);
    thread::scope(|scope| {
        let start = |rank: Threads| {
            scope.spawn(move || {
                let rows = division.rows_of(rank.rank(), BATCH);
                work(trainer().over(OnThreads::new(rank, reduces)), examples(rows))
            })
        };
        let started: Vec<_> = Threads::ranks(size).into_iter().map(start).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The passes that steps have, recorded ones too.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    AsNeeded,
    All,
    AllButVariance,
    Together,
}

/// A step's gradients, one a component if the cap is measured and else one. Twice: the first step finds out what the
/// second reduces beside the pass.
fn gradients(trainer: &mut Trainer, examples: &Examples, kind: Kind) -> Vec<Vec<f32>> {
    let factor = |k: usize| Tensor::from_slice(&Device::cpu(1), &[1], &[0.5 + k as f32]).unwrap();
    let factors: Vec<Tensor> = (0..trainer.objective.components().count()).map(factor).collect();
    let mut differentiate = || {
        let passes = match kind {
            Kind::AsNeeded => Passes::AsNeeded,
            Kind::All => Passes::All,
            Kind::AllButVariance => Passes::AllButVariance,
            Kind::Together => Passes::Together(&factors),
        };
        let done = trainer.differentiate(examples, passes).unwrap();
        let going_back = done.losses.iter().filter(|(component, _)| passes.goes_back(*component)).count();
        let buffers = if done.cap.is_some() { going_back } else { 1 };
        let flat = |gradients: &Gradients| gradients.flat().to_vec::<f32>().unwrap();
        trainer.gradients[..buffers].iter().map(flat).collect::<Vec<_>>()
    };
    differentiate();
    differentiate()
}

/// Each buffer's mean over ranks.
fn means(ranks: &[Vec<Vec<f32>>]) -> Vec<Vec<f32>> {
    let buffer = |k: usize| ranks.iter().map(|buffers| buffers[k].clone()).collect::<Vec<_>>();
    (0..ranks[0].len()).map(|k| mean_of(&buffer(k))).collect()
}

/// The means of what each rank has by itself; where the cap is measured, they are put together as a step does.
fn expected(case: &Case, kind: Kind) -> Vec<Vec<f32>> {
    let own = |case: &Case, kind: Kind| {
        means(&on_ranks(
            2,
            false,
            || case.trainer(false),
            |mut trainer, rows| gradients(&mut trainer, &rows, kind),
        ))
    };
    let mut buffers = own(case, kind);
    if buffers.len() > 1 {
        // The first buffer holds the sum already: the field loss's own is that of the field loss alone.
        let field = Case { objective: Objective { std_floor: 1.0, ..Objective::FO }, ..case.clone() };
        let params = case.trainer(false).params;
        let [field, others @ ..] = &[&own(&field, Kind::AsNeeded)[..1], &buffers[1..]].concat()[..] else {
            unreachable!("there are several")
        };
        let mut sum = Gradients::from_flat(&params, field).unwrap();
        let others: Vec<Gradients> =
            others.iter().map(|other| Gradients::from_flat(&params, other).unwrap()).collect();
        sum.add_capped(&others.iter().collect::<Vec<_>>(), &CAP_SETS).unwrap();
        buffers[0] = sum.flat().to_vec::<f32>().unwrap();
    }
    buffers
}

/// The largest difference of a parameter's gradient, relative to the norm of the parameter's.
fn difference(params: &Params, one: &[f32], other: &[f32]) -> f64 {
    let norm = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    let of = |range: &Range<usize>| {
        let pairs = || one[range.clone()].iter().zip(&other[range.clone()]);
        let apart = norm(&mut pairs().map(|(a, b)| f64::from(*a) - f64::from(*b)));
        apart / norm(&mut pairs().map(|(a, _)| f64::from(*a))).max(1e-6)
    };
    params.layout().params().iter().map(|param| of(&param.range)).fold(0.0, f64::max)
}

#[test]
fn every_gradient_is_the_mean_over_all_devices() {
    for case in Case::all() {
        let idle = case.objective.std_floor < 1e-6;
        let kinds = [Kind::AsNeeded, Kind::All, Kind::Together, Kind::AllButVariance];
        for kind in kinds.into_iter().filter(|kind| *kind != Kind::AllButVariance || idle) {
            let name = format!("{}, {kind:?}", case.name);
            let trainer = || case.trainer(false);
            let reduced =
                on_ranks(2, true, trainer, |mut trainer, rows| gradients(&mut trainer, &rows, kind));
            assert!(reduced[0] == reduced[1], "{name}: all have the same");
            assert!(reduced[0] == expected(&case, kind), "{name}: it is the mean");
            let mut alone = trainer();
            let whole = gradients(&mut alone, &examples(0..BATCH), kind);
            for (reduced, whole) in reduced[0].iter().zip(&whole) {
                let apart = difference(&alone.params, whole, reduced);
                assert!(apart < 2e-3, "{name}: it is that of the whole batch, but for {apart}");
            }
            let silent = |path: &str| {
                let range = alone.params.layout().range(path);
                reduced[0][0][range].iter().all(|x| *x == 0.0)
            };
            let trained = if case.head { &[""] } else { case.objective.paths() };
            let paths =
                if trained == [""] && !case.head { &["encoder", "predictor", "decoder"] } else { trained };
            assert!(!paths.iter().any(|path| silent(path)), "{name}: all that is trained has a gradient");
        }
    }
}

/// The state after some steps, and the losses of each.
fn stepped(mut trainer: Trainer, rows: &Examples) -> (Vec<Vec<f32>>, Vec<StepReport>) {
    let rates = Rates { learning_rate: 1e-3, ema_momentum: 0.99 };
    let reports = (0..6).map(|_| trainer.step(rows, rates).unwrap().read().unwrap()).collect();
    let state = trainer.buffers().iter().map(|(_, buffer)| buffer.to_vec::<f32>().unwrap()).collect();
    (state, reports)
}

#[test]
fn steps_over_devices_leave_one_state_and_are_those_of_the_whole_batch() {
    for case in Case::all() {
        for muon in [false, true].into_iter().filter(|muon| !(case.head && *muon)) {
            let name = format!("{}, {}", case.name, if muon { "Muon" } else { "AdamW" });
            let (_, alone) = stepped(case.trainer(muon), &examples(0..BATCH));
            for size in [2, 4] {
                let ranks =
                    on_ranks(size, true, || case.trainer(muon), |trainer, rows| stepped(trainer, &rows));
                assert!(ranks.iter().all(|rank| *rank == ranks[0]), "{name}, {size}: one state");
                for (step, (alone, ranked)) in alone.iter().zip(&ranks[0].1).enumerate() {
                    for (component, loss) in &alone.losses {
                        let other = ranked.losses[component];
                        let close = (loss - other).abs() <= 5e-3 * loss.abs() + 1e-9;
                        assert!(close, "{name}, {size}, step {step}: {component:?} {loss} and {other}");
                    }
                    assert!((alone.alpha - ranked.alpha).abs() <= 5e-3, "{name}, {size}, step {step}");
                }
            }
        }
    }
}

/// A rank that says when it ends.
#[derive(Debug)]
struct Logged(Threads, Log);

impl Communicator for Logged {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn exchange(&mut self, messages: &[&[u8]]) -> Result<Vec<Vec<u8>>, ParallelError> {
        self.0.exchange(messages)
    }

    fn abort(&mut self, why: &str) {
        locked(&self.1).push(format!("told: {why}"));
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        locked(&self.1).push("hung up".to_owned());
    }
}

#[test]
fn devices_are_left_before_the_connections_that_would_end_a_wait_for_them() {
    let log = Log::default();
    let rank = || Threads::ranks(1).swap_remove(0);
    let team = Team::new(Box::new(Logged(rank(), log.clone())), None, BATCH).unwrap();
    let group = OnThreads { ranks: Mutex::new(rank()), reduces: true, log: log.clone() };
    let mut trainer = Case::all()[0].trainer(false).in_team(team).over(group);
    trainer.abort(&TrainError::Request("no more".to_owned()));
    drop(trainer);
    assert_eq!(*locked(&log), ["told: no more", "left", "gone", "hung up"]);
}
