//! How far a recovery from someone's own sensors can be trusted: what is known of the model under conditions like
//! theirs, and what speaks against it.

mod contradiction;
mod nearest;
mod residuals;
mod warning;

use scope_data::{
    Channel, Constants, PerChannel,
    observation::{Coverage, Mask, STENCIL_POINTS, Stencil, Task, UserContext},
};
use scope_model::{Card, ConditionErrors, Fields, HeldOut, Training};
use scope_pde::Pde;
use serde::Serialize;

pub use contradiction::Contradiction;
pub use nearest::Nearest;
pub use residuals::{Residual, Residuals, Suspects};
pub use warning::{Usual, Warning};

/// What is known of a model besides its weights.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// How it was trained.
    pub training: Option<&'a Training>,
    /// Its card.
    pub card: Option<&'a Card>,
    /// Its errors on held-out records.
    pub held_out: Option<&'a HeldOut>,
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
    /// Mean errors on held-out records under that condition, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_percent: Option<ConditionErrors>,
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
        let errors = nearest.as_ref().zip(known.held_out);
        let errors = errors.and_then(|(nearest, held_out)| held_out.conditions.get(&nearest.condition));
        let misfit_percent = PerChannel::from_fn(|channel| misfit(pde, context, fields, channel));
        let mut trust = Self {
            task: task.name(),
            coverage,
            held_out_percent: errors.copied(),
            nearest,
            misfit_percent,
            warnings: Vec::new(),
        };
        trust.warnings = warning::warnings(pde, constants, known, context, &trust);
        Some(trust)
    }
}

impl Trust {
    /// Whether the measurements contradict the model, so that nothing it says of its own errors holds.
    pub fn is_contradicted(&self) -> bool {
        self.warnings.iter().any(|warning| matches!(warning, Warning::Contradiction(_)))
    }
}

/// 100 |recovered - measured| / |measured| over the sensors of a channel, where they are; none without sensors or for zeros.
fn misfit(pde: Pde, context: &UserContext, fields: &Fields, channel: Channel) -> Option<f64> {
    let field = &fields[channel];
    let grid = context.masks.size();
    let mut apart = 0.0;
    let mut size = 0.0;
    for sensor in context.sensors.iter().filter(|sensor| sensor.channel == channel) {
        let stencil = Stencil::new(pde, channel, grid, sensor.spot, STENCIL_POINTS);
        apart += (stencil.sum(|point| f64::from(field[point])) - sensor.value).powi(2);
        size += sensor.value.powi(2);
    }
    (size > 0.0).then(|| 100.0 * (apart / size).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use scope_data::observation::{Place, Sensor};
    use scope_model::{Adapted, View};

    const SIZE: usize = 32;

    /// What is said of measurements of u that are `value` everywhere and recovered as `recovered`.
    fn weighed(count: usize, value: f64, recovered: f32, known: Known<'_>) -> Trust {
        let sensor = |k: usize| Sensor {
            channel: Channel::U,
            place: Place::Index(k * 11 % SIZE, (k * 7 + k / SIZE) % SIZE),
            value,
        };
        let sensors: Vec<Sensor> = (0..count).map(sensor).collect();
        let constants = Constants::released(Pde::Poisson);
        let context = UserContext::new(Pde::Poisson, &constants, SIZE, &sensors, None).unwrap();
        let fields = Fields { a: vec![0.0; SIZE * SIZE], u: vec![recovered; SIZE * SIZE] };
        Trust::of(Pde::Poisson, &constants, known, &context, &fields).unwrap()
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
            adapted: adapted.map(|view| Box::new(Adapted { view, base: None })),
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
        let known = Known { training: Some(&training), card: None, held_out: Some(&held_out) };
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
        let known = |training| Known { training: Some(training), card: None, held_out: Some(&held_out) };
        let poor = weighed(31, 0.004, 0.005, known(&cut)).warnings;
        assert_eq!(poor[0], Warning::CutShort { draws: 40, planned: 100 });
        assert!(
            matches!(poor[1], Warning::PoorFit { channel: "u", percent, usual: Usual::Better } if (percent - 25.0).abs() < 0.1)
        );
        let many = weighed(400, 0.004, 0.004, known(&head)).warnings;
        assert_eq!(many, [Warning::More { channel: "u", sensors: 400, trained: 31 }]);
        let none = weighed(31, 0.004, 0.004, Known::default()).warnings;
        assert_eq!(none, [Warning::NoHeldOut("inverse")]);
    }

    /// Its own errors are no excuse for a recovery that does not fit its measurements.
    #[test]
    fn what_a_model_that_has_learned_little_recovers_is_doubted() {
        let training = training(100, None);
        let held_out = held_out(97.0);
        let known = Known { training: Some(&training), card: None, held_out: Some(&held_out) };
        let said: Vec<String> =
            weighed(31, 0.004, 0.0001, known).warnings.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("is hardly recovered") && said[0].contains("is 97.0%"), "{said:?}");
        assert!(said[1].contains("by 97.5%: the model may have been trained too little, or"), "{said:?}");
        let unknown = weighed(31, 0.004, 0.0001, Known::default()).warnings;
        assert!(matches!(
            &unknown[..],
            [Warning::NoHeldOut(_), Warning::PoorFit { usual: Usual::Unknown, .. }]
        ));
    }

    #[test]
    fn a_model_whose_errors_are_no_numbers_is_a_bad_one() {
        let training = training(100, None);
        let held_out = held_out(f64::NAN);
        let known = Known { training: Some(&training), card: None, held_out: Some(&held_out) };
        let good = weighed(31, 0.004, 0.004, known).warnings;
        assert!(matches!(&good[..], [Warning::LargeErrors { percent, .. }] if percent.is_nan()), "{good:?}");
        let nothing = weighed(31, 0.004, f32::NAN, Known::default()).warnings;
        assert!(matches!(&nothing[..], [Warning::NoHeldOut(_), Warning::PoorFit { .. }]), "{nothing:?}");
    }
}
