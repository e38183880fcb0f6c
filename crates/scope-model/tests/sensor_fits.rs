//! Networks that see local fits of the sensors: sensors between pixels are fitted where they are.

use scope_data::{
    Channel, Constants, PerChannel,
    observation::{Place, Sensor, UserContext, trust},
};
use scope_engine::{Cpu, Device, Dtype, FitPoint, Tape, Tensor};
use scope_model::{Fields, FitConfig, Model, Precision, Preset, Reconstructor, recover_sensors};
use scope_pde::Pde;

const SIZE: usize = 32;
const PDE: Pde = Pde::NAVIER_STOKES;

/// Random weights; the divisors are such that some coefficients are clamped.
fn model(with_fits: bool, device: &Device) -> Model {
    let fits = FitConfig {
        scales: vec![1.5, 3.0],
        degree: 4,
        stride: 4,
        ridge: vec![1e-4, 1e-6],
        periodic: PDE.periodic(),
        edges: PerChannel::default(),
    };
    let mut config = Preset::Tiny.config(SIZE);
    config.fits = with_fits.then_some(fits);
    let mut model = Model::initial(config, 5, device).unwrap();
    if let Some(fits) = model.network.encoder.fits() {
        let mut flat: Vec<f32> = model.params.flat().to_vec().unwrap();
        let range = model.params.layout().param(fits.normaliser).range.clone();
        flat[range].iter_mut().enumerate().for_each(|(k, divisor)| *divisor = 0.05 + 0.01 * k as f32);
        let flat = Tensor::from_slice(model.params.device(), &[flat.len()], &flat).unwrap();
        model.params.set_flat(flat).unwrap();
    }
    model
}

fn reconstructor(with_fits: bool) -> Reconstructor {
    Reconstructor::new(model(with_fits, &Device::cpu(2)), PDE, Constants::generated(PDE), Precision::F32)
}

fn sensors(place: impl Fn(usize) -> Place) -> UserContext {
    let constants = Constants::generated(PDE);
    let sensor = |k: usize| {
        let channel = Channel::BOTH[k % 2];
        let sigma = constants[channel].sigma;
        Sensor { channel, place: place(k), value: 0.4 * sigma * (0.7 * k as f64).sin() }
    };
    let sensors: Vec<Sensor> = (0..60).map(sensor).collect();
    UserContext::new(PDE, &constants, SIZE, &sensors, None).unwrap()
}

fn on_pixels() -> UserContext {
    sensors(|k| Place::Index(7 * k % SIZE, (11 * k + k / 32) % SIZE))
}

fn between_pixels() -> UserContext {
    sensors(|k| Place::Point((0.137 * k as f64).fract(), (0.379 * k as f64).fract()))
}

/// One pass of the network with the fits of points that are given.
fn direct(model: &Model, context: &UserContext, points: &[Vec<FitPoint>]) -> Fields {
    let device = model.params.device();
    let fits = model.network.encoder.fits().unwrap();
    let divisors = model.params.values_of(fits.normaliser).unwrap();
    let fitted = fits.local_fit.of_points(&Cpu::new(1), [SIZE; 2], points, Some(&divisors)).unwrap();
    let fitted: Vec<f32> = fitted.iter().map(|x| *x as f32).collect();
    assert!(fitted.contains(&5.0) && fitted.iter().any(|x| x.abs() < 5.0));
    let tape = Tape::inference(&model.params, Dtype::F32);
    let image = |values: &[f32], side: usize| {
        let shape = [1, values.len() / (side * side), side, side];
        tape.input(Tensor::from_slice(device, &shape, values).unwrap())
    };
    let context = image(&context.context(), SIZE);
    let fitted = image(&fitted, SIZE / 4);
    let stored: Vec<f32> =
        model.network.forward_fitted(&tape, &context, &fitted).unwrap().value().to_vec().unwrap();
    let physical = |channel: Channel| {
        let scaling = Constants::generated(PDE)[channel];
        let own = &stored[channel.position() * SIZE * SIZE..][..SIZE * SIZE];
        own.iter().map(|x| scaling.physical(*x) as f32).collect()
    };
    Fields { a: physical(Channel::A), u: physical(Channel::U) }
}

#[test]
fn sensors_on_pixels_are_seen_as_their_context() {
    let model = reconstructor(true);
    let mut context = on_pixels();
    assert!(!context.is_off_grid());
    let expected = model.recover(&context.context()).unwrap();
    assert_eq!(model.recover_sensors(std::slice::from_mut(&mut context)).unwrap(), expected);
}

#[test]
fn sensors_between_pixels_are_fitted_where_they_are() {
    between_pixels_weighs(PerChannel::both(0.0), PerChannel::both(1.0));
}

/// c = s0^2 / (s0^2 + s^2), with s0 = 0.01.
#[test]
fn noisy_sensors_between_pixels_are_fitted_by_their_trust() {
    between_pixels_weighs(PerChannel { a: 0.01, u: 0.03 }, PerChannel { a: 0.5, u: trust(0.03) });
}

/// Sensors between pixels with a noise of each channel count by these weights, in contexts and in fits.
fn between_pixels_weighs(noise: PerChannel<f64>, weights: PerChannel<f64>) {
    let constants = Constants::generated(PDE);
    let mut context = between_pixels().with_noise(noise);
    let points = Channel::BOTH.map(|channel| {
        let own = context.sensors.iter().filter(|sensor| sensor.channel == channel);
        let value = |value: f64| f64::from(constants[channel].store(value));
        own.map(|at| FitPoint { at: at.spot.at, value: value(at.value), weight: weights[channel] }).collect()
    });
    let model = model(true, &Device::cpu(1));
    let first = direct(&model, &context, &points);
    let carried = context.carried(PDE, &constants, first.each_ref().map(Vec::as_slice));
    let expected = direct(&model, &carried, &points);

    let reconstructor = reconstructor(true);
    let got = reconstructor.recover_sensors(std::slice::from_mut(&mut context)).unwrap();
    assert_eq!(got, [expected]);
    assert_eq!(context, carried);
    assert_ne!(reconstructor.recover(&carried.context()).unwrap(), got);
}

#[test]
fn sensors_of_one_pixel_all_count() {
    let mut context = sensors(|k| Place::Index(7 * (k / 4) % SIZE, 11 * (k / 4) % SIZE));
    assert!(context.shared > 0 && context.between_pixels() == 0);
    let model = reconstructor(true);
    let averaged = model.recover(&context.context()).unwrap();
    assert_ne!(model.recover_sensors(std::slice::from_mut(&mut context)).unwrap(), averaged);
}

#[test]
fn neither_depends_on_the_other() {
    let model = reconstructor(true);
    let mut contexts: Vec<UserContext> =
        [0, 1, 1, 0, 1].map(|k| if k == 0 { on_pixels() } else { between_pixels() }).to_vec();
    contexts.extend(vec![between_pixels(); 9]);
    let mut alone = contexts.clone();
    let together = model.recover_sensors(&mut contexts).unwrap();
    for (alone, together) in alone.iter_mut().zip(together) {
        assert_eq!(model.recover_sensors(std::slice::from_mut(alone)).unwrap(), [together]);
    }
    assert_eq!(contexts, alone);
}

#[test]
fn without_fits_sensors_are_carried_as_ever() {
    let model = reconstructor(false);
    let constants = Constants::generated(PDE);
    let mut contexts = [between_pixels(), on_pixels()];
    let expected =
        recover_sensors(PDE, &constants, &mut contexts.clone(), |contexts| model.recover(contexts)).unwrap();
    assert_eq!(model.recover_sensors(&mut contexts).unwrap(), expected);
}

/// The fits are the same numbers on a GPU, and a recorded pass is given those of its own contexts each time.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_card_sees_the_same_fits() {
    let constants = Constants::generated(PDE);
    let gpu = Device::cuda(0).unwrap();
    let gpu = Reconstructor::new(model(true, &gpu), PDE, constants, Precision::F32);
    let cpu = reconstructor(true);
    let moved = sensors(|k| Place::Point((0.211 * k as f64).fract(), (0.319 * k as f64).fract()));
    for context in [between_pixels(), moved, on_pixels(), between_pixels()] {
        let [got, expected] = [&gpu, &cpu].map(|model| {
            model.recover_sensors(std::slice::from_mut(&mut context.clone())).unwrap().remove(0)
        });
        for channel in Channel::BOTH {
            let sigma = constants[channel].sigma as f32;
            for (got, expected) in got[channel].iter().zip(&expected[channel]) {
                assert!((got - expected).abs() < 2e-3 * sigma, "{got}, expected {expected}");
            }
        }
    }
}
