//! How far a recovery from someone's own sensors can be trusted: what is known of the model under conditions like
//! theirs, and what speaks against it.

mod calibrated;
mod contradiction;
mod exact_limit;
mod judge;
mod misfit;
mod nearest;
mod noise;
mod residuals;
mod warning;

use scope_data::{
    Constants, PerChannel,
    observation::{Coverage, Mask, Task, UserContext},
};
use scope_model::{Card, CardTraining, ConditionErrors, Fields, HeldOut, Training};
use scope_pde::Pde;
use serde::Serialize;

pub use calibrated::Calibrated;
pub use contradiction::Contradiction;
pub use exact_limit::ExactLimit;
pub use misfit::Fitted;
pub(crate) use misfit::misfit_percent;
pub use nearest::Nearest;
pub(crate) use noise::estimate_noise;
pub use noise::{ReadingsNoise, robust_deviation};
pub use residuals::{Residual, Residuals, Suspects};
pub use warning::{Usual, Warning};

use judge::Case;

/// What is known of a model besides its weights, and of the measurements besides their values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// How it was trained.
    pub training: Option<&'a Training>,
    /// Its card.
    pub card: Option<&'a Card>,
    /// Its errors on held-out records.
    pub held_out: Option<&'a HeldOut>,
    /// The standard deviations of the readings' errors, in physical units, if they were stated.
    pub noise: Option<PerChannel<f64>>,
    /// What fresh records say of the very sensors with this noise, if any were asked.
    pub calibrated: Option<&'a Calibrated>,
}

impl Known<'_> {
    /// The range of noise that the model was trained with, in units of the field's standard deviation; none if all
    /// readings were exact.
    pub fn noise_trained(&self) -> Option<[f64; 2]> {
        let card = self.card.and_then(|card| card.training.noise);
        card.or_else(|| self.training.and_then(CardTraining::noise_of))
    }
}

/// What can be said of one recovery.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trust {
    /// Which channels were measured: forward, inverse or joint.
    pub task: &'static str,
    /// How sensors cover a and u.
    pub coverage: PerChannel<Option<Coverage>>,
    /// The condition most like this one among those that the model was evaluated under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Nearest>,
    /// Mean errors on held-out records under that condition, in percent; none where they say nothing of these sensors
    /// or readings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_percent: Option<ConditionErrors>,
    /// What was measured on fresh records for these very sensors and their noise; none where the measurements are
    /// unlike these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<Calibrated>,
    /// What the exact posterior has with about as many sensors, where it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<ExactLimit>,
    /// The noise of readings of a and u, as stated and as it looks, in percent of the field's standard deviation.
    pub noise_percent: PerChannel<Option<ReadingsNoise>>,
    /// How far the recovery is from the measurements themselves: the relative L2 error at sensors, in percent.
    pub misfit_percent: PerChannel<Option<f64>>,
    /// What speaks against trusting it.
    pub warnings: Vec<Warning>,
}

/// What is measured: a makes it forward, u inverse, both joint. Nothing measured is no task.
pub fn task_of(measured: &PerChannel<Mask>) -> Option<Task> {
    match (measured.a.count() > 0, measured.u.count() > 0) {
        (true, true) => Some(Task::Joint),
        (true, false) => Some(Task::Forward),
        (false, true) => Some(Task::Inverse),
        (false, false) => None,
    }
}

impl Trust {
    /// Weighs a recovery. None if nothing was measured.
    pub fn of(
        pde: Pde,
        constants: &Constants,
        known: Known<'_>,
        context: &UserContext,
        fields: &Fields,
    ) -> Option<Self> {
        let task = task_of(&context.measured)?;
        let coverage = PerChannel::from_fn(|channel| Coverage::of(&context.measured[channel]));
        let nearest = Nearest::find(pde, &context.measured, task, known.held_out);
        let reference = known.held_out.zip(nearest.as_ref()).and_then(|(held_out, nearest)| {
            held_out.conditions.get(&nearest.condition).filter(|_| nearest.is_alike(held_out)).copied()
        });
        let fitted = PerChannel::from_fn(|channel| Fitted::all(pde, context, fields, channel));
        let noise_percent = PerChannel::from_fn(|channel| {
            let percent = |noise: f64| 100.0 * noise / constants[channel].sigma;
            let stated = known.noise.map(|noise| percent(noise[channel]));
            let estimated = estimate_noise(&fitted[channel]).map(percent);
            (!fitted[channel].is_empty()).then_some(ReadingsNoise { stated, estimated })
        });
        let mut trust = Self {
            task: task.name(),
            coverage,
            nearest,
            held_out_percent: None,
            calibrated: known.calibrated.cloned(),
            exact: None,
            noise_percent,
            misfit_percent: fitted.each_ref().map(|sensors| misfit_percent(sensors)),
            warnings: Vec::new(),
        };
        let case = Case { pde, constants, known, context, fitted, reference };
        let for_exact_readings = !case.noise_is_stated() && known.calibrated.is_none();
        trust.held_out_percent = reference.filter(|_| for_exact_readings);
        case.warnings(&trust).into_iter().for_each(|warning| trust.warn(warning));
        Some(trust)
    }

    /// Adds what speaks against it, and takes back errors that say nothing of such measurements.
    pub fn warn(&mut self, warning: Warning) {
        if warning.denies_errors() {
            self.held_out_percent = None;
            self.calibrated = None;
            self.exact = None;
        }
        self.warnings.push(warning);
    }

    /// The same before all others.
    pub fn warn_first(&mut self, warning: Warning) {
        self.warn(warning);
        self.warnings.rotate_right(1);
    }

    /// What the exact posterior has with such sensors, if the readings are exact as far as is known.
    pub fn exact_limit(&self, pde: Pde) -> Option<ExactLimit> {
        let stated =
            self.noise_percent.iter().flatten().any(|noise| noise.stated.is_some_and(|noise| noise > 0.0));
        if stated || self.denies_errors() {
            return None;
        }
        ExactLimit::nearest(pde, self.task, &self.coverage)
    }

    /// Whether something is known to be wrong with the measurements, so that no error says anything of them.
    pub fn denies_errors(&self) -> bool {
        self.warnings.iter().any(Warning::denies_errors)
    }

    /// Whether what a posterior expects of its own errors is not to be relied on.
    pub fn denies_expectation(&self) -> bool {
        let unsure = |warning: &Warning| matches!(warning, Warning::UnsureAmplitude { .. });
        self.is_contradicted() || self.has_suspects() || self.warnings.iter().any(unsure)
    }

    /// Whether some of the measurements do not fit the others, and were used.
    pub fn has_suspects(&self) -> bool {
        self.warnings.iter().any(|warning| matches!(warning, Warning::Suspects(_)))
    }

    /// Whether the measurements contradict the model, so that nothing it says of its own errors holds.
    pub fn is_contradicted(&self) -> bool {
        self.warnings.iter().any(|warning| matches!(warning, Warning::Contradiction(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand_distr::StandardNormal;
    use scope_data::{
        Channel,
        observation::{Place, Sensor},
    };
    use scope_model::{Adapted, View};
    use scope_pde::random::Coordinates;

    const SIZE: usize = 32;

    /// What is said of measurements of u that are `value` everywhere and recovered as `recovered`.
    fn weighed(count: usize, value: f64, recovered: f32, known: Known<'_>) -> Trust {
        let sensor = |k: usize| Sensor {
            channel: Channel::U,
            place: Place::Index(k * 11 % SIZE, (k * 7 + k / SIZE) % SIZE),
            value,
        };
        let sensors: Vec<Sensor> = (0..count).map(sensor).collect();
        let constants = Constants::released(Pde::POISSON);
        let context = UserContext::new(Pde::POISSON, &constants, SIZE, &sensors, None).unwrap();
        let fields = Fields { a: vec![0.0; SIZE * SIZE], u: vec![recovered; SIZE * SIZE] };
        Trust::of(Pde::POISSON, &constants, known, &context, &fields).unwrap()
    }

    fn training(draws: u64, adapted: Option<View>) -> Training {
        Training {
            recipe: "full".into(),
            draws,
            planned: 100,
            generated: true,
            seed: None,
            minutes: None,
            sensors: None,
            problem: None,
            adapted: adapted.map(|view| Box::new(Adapted { view, continued: false, base: None })),
            from: None,
        }
    }

    fn held_out(percent: f64) -> HeldOut {
        let errors = ConditionErrors { a: Some(percent), u: Some(percent), ber: None };
        let conditions = [("inverse/uniform/500".parse().unwrap(), errors)].into();
        HeldOut { records: 10, origin: "test".into(), conditions }
    }

    #[test]
    fn a_good_recovery_under_a_known_condition_raises_no_warning() {
        let training = training(100, None);
        let held_out = held_out(10.0);
        let known = Known { training: Some(&training), held_out: Some(&held_out), ..Known::default() };
        let trust = weighed(31, 0.004, 0.0041, known);
        assert_eq!(trust.warnings, []);
        assert_eq!((trust.task, trust.held_out_percent.unwrap().a), ("inverse", Some(10.0)));
        assert!((trust.misfit_percent.u.unwrap() - 2.5).abs() < 0.01);
        assert_eq!(trust.misfit_percent.a, None);
    }

    #[test]
    fn what_speaks_against_a_recovery_is_said() {
        let cut = training(40, None);
        let head = training(100, Some(View::Sparse));
        let held_out = held_out(1.0);
        let known =
            |training| Known { training: Some(training), held_out: Some(&held_out), ..Known::default() };
        let poor = weighed(31, 0.004, 0.005, known(&cut)).warnings;
        assert_eq!(poor[0], Warning::CutShort { draws: 40, planned: 100 });
        assert!(
            matches!(poor[1], Warning::PoorFit { channel: "u", percent, usual: Usual::Better, .. } if (percent - 25.0).abs() < 0.1)
        );
        let many = weighed(400, 0.004, 0.004, known(&head)).warnings;
        assert_eq!(many[0], Warning::More { channel: "u", sensors: 400, trained: 31 });
        assert!(matches!(many[1], Warning::NoReference { .. }) && many.len() == 2, "{many:?}");
        let none = weighed(31, 0.004, 0.004, Known::default()).warnings;
        assert_eq!(none, [Warning::NoHeldOut("inverse")]);
    }

    /// Sensors of u that are off by noise about a field that was recovered as it is.
    fn noisy(level: f64, known: Known<'_>) -> Trust {
        let constants = Constants::released(Pde::POISSON);
        let mut stream = Coordinates::new("test-trust").stream();
        let sensors: Vec<Sensor> = (0..31)
            .map(|k| {
                let error: f64 = stream.sample(StandardNormal);
                let place = Place::Index(k * 11 % SIZE, (k * 7 + k / SIZE) % SIZE);
                Sensor { channel: Channel::U, place, value: 0.004 + level * constants.u.sigma * error }
            })
            .collect();
        let context = UserContext::new(Pde::POISSON, &constants, SIZE, &sensors, None).unwrap();
        let fields = Fields { a: vec![0.0; SIZE * SIZE], u: vec![0.004; SIZE * SIZE] };
        Trust::of(Pde::POISSON, &constants, known, &context, &fields).unwrap()
    }

    #[test]
    fn noise_is_told_from_wrong_physics() {
        let training = training(100, None);
        let held_out = held_out(1.0);
        let known = Known { training: Some(&training), held_out: Some(&held_out), ..Known::default() };
        let unstated = noisy(0.2, known);
        let [Warning::Noisy { channel: "u", percent, stated: None }] = &unstated.warnings[..] else {
            panic!("{:?}", unstated.warnings)
        };
        assert!((14.0..28.0).contains(percent), "{percent}");
        assert_eq!(unstated.held_out_percent, None, "errors of exact readings are not those of noisy ones");
        let state = |share: f64| {
            let noise = PerChannel::both(share * Constants::released(Pde::POISSON).u.sigma);
            noisy(0.2, Known { noise: Some(noise), ..known }).warnings
        };
        let told = [Warning::TakenAsExact, Warning::NoReferenceForNoise { can_be_measured: true }];
        assert_eq!(state(0.2), told);
        assert!(state(0.02).iter().any(|warning| matches!(warning, Warning::Noisy { stated: Some(_), .. })));
        let silent = noisy(0.0, known);
        assert_eq!((silent.warnings.len(), silent.held_out_percent.is_some()), (0, true));
    }

    /// What is said of 128 sensors of a field that is as large as usual, whose recovery is off by something smooth, and
    /// readings by a noise, as shares of it.
    fn smoothly_off(pde: Pde, smooth: f64, noise: f64) -> Vec<Warning> {
        let constants = Constants::released(pde);
        let size = constants.u.mean.hypot(constants.u.sigma);
        let mut stream = Coordinates::new("test-rough").stream();
        let wave = |i: usize, j: usize| smooth * (0.3 * i as f64).sin() * (0.3 * j as f64).cos();
        let sensors: Vec<Sensor> = (0..128)
            .map(|_| {
                let [i, j] = [(); 2].map(|()| stream.random_range(1..SIZE - 1));
                let error: f64 = stream.sample(StandardNormal);
                Sensor { channel: Channel::U, place: Place::Index(i, j), value: size * (1.0 + noise * error) }
            })
            .collect();
        let context = UserContext::new(pde, &constants, SIZE, &sensors, None).unwrap();
        let point = |point: usize| (size * (1.0 + wave(point / SIZE, point % SIZE))) as f32;
        let u = (0..SIZE * SIZE).map(point).collect();
        let training = training(100, None);
        let errors = ConditionErrors { a: Some(1.5), u: Some(1.5), ber: None };
        let conditions = [("inverse/uniform/2048".parse().unwrap(), errors)].into();
        let held_out = HeldOut { records: 10, origin: "test".into(), conditions };
        let known = Known { training: Some(&training), held_out: Some(&held_out), ..Known::default() };
        Trust::of(pde, &constants, known, &context, &Fields { a: vec![0.0; SIZE * SIZE], u })
            .unwrap()
            .warnings
    }

    fn looks_noisy(pde: Pde, smooth: f64, noise: f64) -> bool {
        smoothly_off(pde, smooth, noise).iter().any(|warning| matches!(warning, Warning::Noisy { .. }))
    }

    /// A noise that is no larger than the error of a recovery shows where such errors are smooth.
    #[test]
    fn less_noise_is_told_from_the_smoother_misfits_of_flows_past_a_disk() {
        assert!(looks_noisy(Pde::CYLINDER, 0.01, 0.005));
        assert!(!looks_noisy(Pde::CYLINDER, 0.01, 0.0));
        assert!(!looks_noisy(Pde::NAVIER_STOKES, 0.01, 0.005));
    }

    /// Exact readings of a Gaussian field are missed by something as rough as noise, so that roughness alone says
    /// nothing there.
    #[test]
    fn a_rough_misfit_of_a_gaussian_field_is_no_noise() {
        assert!(looks_noisy(Pde::NAVIER_STOKES, 0.0, 0.0084));
        assert!(!looks_noisy(Pde::POISSON, 0.0, 0.0084));
        assert!(looks_noisy(Pde::POISSON, 0.0, 0.02));
    }

    #[test]
    fn what_fresh_records_say_counts_alone() {
        let training = training(100, None);
        let held_out = held_out(1.0);
        let calibrated = |misfit: f64, noise: f64| Calibrated {
            records: 19,
            error_percent: PerChannel { a: Some(25.0), u: Some(3.0) },
            largest_misfit_percent: PerChannel { a: None, u: Some(misfit) },
            largest_noise: PerChannel { a: None, u: Some(noise) },
        };
        let weigh = |calibrated: &Calibrated| {
            let known = Known {
                training: Some(&training),
                held_out: Some(&held_out),
                calibrated: Some(calibrated),
                ..Known::default()
            };
            noisy(0.2, known)
        };
        // A noise of 1, far above the field itself, was not noticed on fresh records: it is told that none was stated.
        let alike = weigh(&calibrated(30.0, 1.0));
        assert!(matches!(alike.warnings[..], [Warning::UnseenNoise { percent: Some(_), .. }]), "{alike:?}");
        assert_eq!((alike.calibrated.unwrap().error_percent.a, alike.held_out_percent), (Some(25.0), None));
        let unlike = weigh(&calibrated(5.0, 1.0));
        assert!(matches!(unlike.warnings[..], [Warning::PoorFit { usual: Usual::Better, .. }]), "{unlike:?}");
        assert_eq!(unlike.calibrated, None, "fresh records say nothing of such measurements");
        let noisier = weigh(&calibrated(30.0, 1e-5));
        assert!(matches!(noisier.warnings[..], [Warning::Noisy { .. }]), "{noisier:?}");
        // A misfit beyond that of fresh exact readings is their noise, where it is as large as that.
        let only_noisy = weigh(&calibrated(5.0, 1e-5));
        assert!(matches!(only_noisy.warnings[..], [Warning::Noisy { .. }]), "{only_noisy:?}");
    }

    /// What a posterior expects of its errors counts on every reading that it was made from.
    #[test]
    fn readings_that_do_not_fit_the_others_deny_what_is_expected() {
        let mut trust = weighed(31, 0.004, 0.004, Known::default());
        assert!(!trust.denies_expectation());
        trust.warn(Warning::Suspects(Suspects { first: Vec::new(), count: 1, others_agree: true }));
        assert!(trust.denies_expectation());
    }

    #[test]
    fn few_sensors_have_no_reference() {
        let training = training(100, None);
        let held_out = held_out(10.0);
        let known = Known { training: Some(&training), held_out: Some(&held_out), ..Known::default() };
        let few = weighed(3, 0.004, 0.004, known);
        assert_eq!(few.held_out_percent, None);
        assert!(matches!(few.warnings[1], Warning::NoReference { can_be_measured: true, .. }), "{few:?}");
        let said = few.warnings[1].to_string();
        assert!(
            said.starts_with("no held-out error is known for sensors like these: under inverse/uniform/500"),
            "{said}"
        );
        assert!(said.contains("there are 10 times as many and gaps are 0."), "{said}");
    }

    /// Its own errors are no excuse for a recovery that does not fit its measurements.
    #[test]
    fn what_a_model_that_has_learned_little_recovers_is_doubted() {
        let training = training(100, None);
        let held_out = held_out(97.0);
        let known = Known { training: Some(&training), held_out: Some(&held_out), ..Known::default() };
        let said: Vec<String> =
            weighed(31, 0.004, 0.0001, known).warnings.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("is hardly recovered") && said[0].contains("is 97.0%"), "{said:?}");
        assert!(said[1].contains("by 97.5%: the model may have been trained too little, or"), "{said:?}");
        let unknown = weighed(31, 0.004, 0.0001, Known::default()).warnings;
        assert!(matches!(
            &unknown[..],
            [Warning::PoorFit { usual: Usual::Unknown, .. }, Warning::NoHeldOut(_)]
        ));
    }

    #[test]
    fn a_model_whose_errors_are_no_numbers_is_a_bad_one() {
        let training = training(100, None);
        let held_out = held_out(f64::NAN);
        let known = Known { training: Some(&training), held_out: Some(&held_out), ..Known::default() };
        let good = weighed(31, 0.004, 0.004, known).warnings;
        assert!(matches!(&good[..], [Warning::LargeErrors { percent, .. }] if percent.is_nan()), "{good:?}");
        let nothing = weighed(31, 0.004, f32::NAN, Known::default()).warnings;
        assert!(matches!(&nothing[..], [Warning::PoorFit { .. }, Warning::NoHeldOut(_)]), "{nothing:?}");
    }
}
