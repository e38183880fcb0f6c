//! Times recorded steps and inference of the base model on a card, or takes one step for a profiler.
//!
//!     card [infer] [fo] [full] [skip] [sp]      medians in milliseconds
//!     card once fo                             one step that is not recorded
#![allow(clippy::print_stdout)]

use std::env::args;

use scope_engine::{Cuda, Device, Dtype, Graph, Tape, Tensor};
use scope_model::{Model, Preset};
use scope_train::{Examples, Objective, RecordedTrainer, TrainError, Trainer};

const BATCH: usize = 32;
const SIZE: usize = 128;

fn main() -> Result<(), TrainError> {
    let device = Device::cuda(0)?;
    let Device::Cuda(cuda) = &device else { return Ok(()) };
    let wanted: Vec<String> = args().skip(1).collect();
    let wants = |what: &str| wanted.iter().any(|word| word == what);
    let skip = Objective { variance: 0.0, ..Objective::FULL };
    let objectives = [("fo", Objective::FO), ("full", Objective::FULL), ("skip", skip)];
    for (name, objective) in objectives.into_iter().filter(|(name, _)| wants(name)) {
        if wants("once") {
            let mut trainer = Trainer::new(base(&device)?, objective)?;
            println!("{:?}", trainer.step(&examples(&device, BATCH)?, 1e-4, 0.996)?.read()?);
        } else {
            steps(cuda, &device, name, objective)?;
        }
    }
    if wants("infer") && wants("once") {
        let model = base(&device)?;
        let tape = Tape::inference(&model.params, Dtype::Bf16);
        let contexts = examples(&device, if wants("single") { 1 } else { 256 })?.contexts;
        println!("{:?}", model.network.forward(&tape, &tape.input(contexts))?.shape());
        cuda.synchronise()?;
    } else if wants("infer") {
        let model = base(&device)?;
        for batch in [1, 32, 256] {
            inference(cuda, &model, batch)?;
        }
    }
    Ok(())
}

fn base(device: &Device) -> Result<Model, TrainError> {
    Ok(Model::initial(Preset::Base.config(SIZE), 1, device)?)
}

fn steps(cuda: &Cuda, device: &Device, name: &str, objective: Objective) -> Result<(), TrainError> {
    let trainer = Trainer::new(base(device)?, objective)?;
    let (mut recorded, batch) = (RecordedTrainer::new(cuda, trainer), examples(device, BATCH)?);
    recorded.step_on(&batch, 1e-4, 0.996)?;
    let mut first = None;
    let mut times = Vec::new();
    for _ in 0..60 {
        let mut report = None;
        times.push(cuda.time(|| {
            report = Some(recorded.step_on(&batch, 1e-4, 0.996).map_err(|error| {
                scope_engine::EngineError::Cuda { call: "a step", reason: error.to_string() }
            })?);
            Ok(())
        })?);
        if let Some(report) = report {
            first = first.or(Some(report.read()?));
            if times.len() == 60 {
                println!("{name}: first {first:?}\n{name}: last {:?}", report.read()?);
            }
        }
    }
    let (free, total) = cuda.memory_left()?;
    print(name, BATCH, &mut times[5..]);
    println!("memory in use {} MiB", (total - free) >> 20);
    Ok(())
}

fn inference(cuda: &Cuda, model: &Model, batch: usize) -> Result<(), TrainError> {
    let contexts = examples(model.params.device(), batch)?.contexts;
    let (graph, _fields) = Graph::record(cuda, || {
        let tape = Tape::inference(&model.params, Dtype::Bf16);
        let fields = model.network.forward(&tape, &tape.input(contexts.clone()))?;
        Ok::<Tensor, TrainError>(fields.value().clone())
    })?;
    let mut times = (0..60).map(|_| cuda.time(|| graph.replay())).collect::<Result<Vec<f64>, _>>()?;
    print("infer", batch, &mut times[5..]);
    Ok(())
}

fn print(name: &str, batch: usize, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let ms = |at: usize| times[at] * 1e3;
    println!("{name} batch {batch}: median {:.3} ms, least {:.3} ms", ms(times.len() / 2), ms(0));
}

/// Noise with one point in thirty seen: the time of a step does not depend on their values.
fn examples(device: &Device, batch: usize) -> Result<Examples, TrainError> {
    let pixels = SIZE * SIZE;
    let noise = |k: usize| ((k as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0;
    let fields: Vec<f32> = (0..batch * 2 * pixels).map(noise).collect();
    let contexts: Vec<f32> = fields
        .chunks(pixels)
        .flat_map(|field| {
            let seen = |k: usize| f32::from(u8::from(k.is_multiple_of(30)));
            let values = field.iter().enumerate().map(move |(k, x)| x * seen(k));
            values.chain((0..pixels).map(seen)).collect::<Vec<f32>>()
        })
        .collect();
    Examples::new(device, SIZE, &fields, &contexts, &vec![0.01; 2 * batch])
}
