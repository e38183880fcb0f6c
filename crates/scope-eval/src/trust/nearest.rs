//! Which of the protocol's conditions someone's own sensors are most like.

use rayon::prelude::*;
use scope_data::{
    PerChannel,
    observation::{
        Condition, Coverage, Layout, Mask, MaskSampler, NAMED_POINTS, Namespace, TEST_MASK_SEED, Task,
    },
};
use scope_model::HeldOut;
use scope_pde::{GridShape, Pde};
use serde::Serialize;

/// Errors go with the gaps between sensors to this power at most: the largest median, over pairs of layouts with
/// equally many sensors, of the five shipped models' fields (0.4 to 2.05).
const GAP_POWER: f64 = 2.0;
/// Errors go with the number of sensors to this power, where no other number of the layout was evaluated.
const COUNT_POWER: f64 = 1.0;
/// So many masks tell what a condition's are like: those of clusters differ much.
const MASKS: u64 = 8;
/// A condition is like a set of sensors if its errors are likely within this factor of theirs.
const ALIKE: f64 = 1.5;

/// The condition most like a set of sensors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nearest {
    /// The name of the condition.
    pub condition: Condition,
    /// How many times as many sensors there are as it has.
    pub sensors_ratio: f64,
    /// How many times as wide the mean gap between sensors is.
    pub gap_ratio: f64,
}

impl Nearest {
    /// Among the conditions of a task that were evaluated; among all of the protocol's if none was.
    ///
    /// Conditions are compared by two numbers, the sensors and the mean gap: the distance is that of their
    /// logarithms, over the channels that are measured. Of each layout only the budget nearest in number counts.
    pub fn find(
        pde: Pde,
        measured: &PerChannel<Mask>,
        task: Task,
        held_out: Option<&HeldOut>,
    ) -> Option<Self> {
        let evaluated = held_out.iter().flat_map(|held_out| held_out.conditions.keys()).copied();
        let mut candidates: Vec<Condition> = evaluated.filter(|c| c.task() == task).collect();
        if candidates.is_empty() {
            candidates = Condition::all(pde).into_iter().filter(|c| c.task() == task).collect();
        }
        let grid = measured.a.shape();
        let own = Features::of(measured)?;
        let mut best: Option<(f64, Self)> = None;
        for condition in nearest_budgets(candidates, grid, own.sensors) {
            let sampler = MaskSampler::new(pde, TEST_MASK_SEED, grid);
            let features = (0..MASKS).into_par_iter().filter_map(|record| {
                let masks = sampler.masks(Namespace::Test, record, condition, None);
                Features::of(&PerChannel::from_fn(|channel| masks.sensors(channel)))
            });
            let other = Features::mean(&features.collect::<Vec<_>>())?;
            let sensors = own.sensors - other.sensors;
            let gap = own.gap - other.gap;
            let apart = sensors.hypot(gap);
            if best.as_ref().is_none_or(|(least, _)| apart < *least) {
                let nearest = Self { condition, sensors_ratio: sensors.exp(), gap_ratio: gap.exp() };
                best = Some((apart, nearest));
            }
        }
        best.map(|(_, nearest)| nearest)
    }

    /// Whether the condition's held-out errors say anything of the sensors: they are likely within a factor of 1.5.
    pub(crate) fn is_alike(&self, held_out: &HeldOut) -> bool {
        self.likely_factor(held_out) <= ALIKE
    }

    /// How far the errors of the sensors may be from the condition's, as a factor.
    ///
    /// Errors change with the number of sensors as they do between the condition and the next one of its layout, and
    /// with gaps that are wider or narrower than such a number alone would make them.
    fn likely_factor(&self, held_out: &HeldOut) -> f64 {
        let more = self.sensors_ratio.ln();
        let gaps = self.gap_ratio.ln() + 0.5 * more;
        (self.count_power(held_out) * more.abs() + GAP_POWER * gaps.abs()).exp()
    }

    /// p where errors go as (number of sensors)^-p towards the next number of the same layout, of the channel that
    /// changes more.
    fn count_power(&self, held_out: &HeldOut) -> f64 {
        let own = self.condition;
        let alike = |other: &&Condition| {
            other.task() == own.task()
                && other.layout_name() == own.layout_name()
                && other.budget() != own.budget()
        };
        let apart = |other: &Condition| (other.budget() as f64 / own.budget() as f64).ln();
        // On the side where the sensors are, if anything was evaluated there.
        let distance = |other: &Condition| {
            let ln = apart(other);
            (ln.signum() != self.sensors_ratio.ln().signum(), ln.abs())
        };
        let next = held_out.conditions.keys().filter(alike).min_by(|x, y| {
            let (beyond, x) = distance(x);
            let (other_beyond, y) = distance(y);
            beyond.cmp(&other_beyond).then(x.total_cmp(&y))
        });
        let errors = |condition: &Condition| held_out.conditions.get(condition);
        let Some((next, (own, other))) = next.and_then(|next| Some((next, errors(&own).zip(errors(next))?)))
        else {
            return COUNT_POWER;
        };
        let power =
            |(own, other): (Option<f64>, Option<f64>)| Some((other? / own?).ln().abs() / apart(next).abs());
        [(own.a, other.a), (own.u, other.u)].into_iter().filter_map(power).fold(0.0, f64::max)
    }
}

/// Means over the measured channels of the logarithms of sensors and mean gap.
#[derive(Clone, Copy)]
struct Features {
    sensors: f64,
    gap: f64,
}

impl Features {
    /// Over several masks.
    fn mean(all: &[Self]) -> Option<Self> {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| Self { sensors: mean(|one| one.sensors), gap: mean(|one| one.gap) })
    }

    fn of(masks: &PerChannel<Mask>) -> Option<Self> {
        let measured: Vec<Coverage> = masks.iter().filter_map(Coverage::of).collect();
        let mean =
            |of: &dyn Fn(&Coverage) -> f64| measured.iter().map(of).sum::<f64>() / measured.len() as f64;
        // A field measured everywhere has no gap; a tenth of a pixel keeps its logarithm in reach.
        let floor = 0.1 / masks.a.shape().mean_side();
        (!measured.is_empty()).then(|| Self {
            sensors: mean(&|coverage| (coverage.sensors as f64).ln()),
            gap: mean(&|coverage| (coverage.mean_gap + floor).ln()),
        })
    }
}

/// Of each layout the condition with the number of points nearest to exp(`sensors`).
fn nearest_budgets(candidates: Vec<Condition>, grid: GridShape, sensors: f64) -> Vec<Condition> {
    let apart = |condition: &Condition| (points(condition, grid).ln() - sensors).abs();
    let mut nearest: Vec<Condition> = Vec::new();
    for condition in candidates {
        match nearest.iter_mut().find(|other| other.layout_name() == condition.layout_name()) {
            Some(other) if apart(&condition) < apart(other) => *other = condition,
            Some(_) => {}
            None => nearest.push(condition),
        }
    }
    nearest
}

/// Points that a condition observes on a grid.
fn points(condition: &Condition, grid: GridShape) -> f64 {
    let share = match condition.layout() {
        Layout::Family(_, budget) => budget as f64 / NAMED_POINTS as f64,
        Layout::BenchmarkUniform => 0.01,
        Layout::Bernoulli => 0.03,
        Layout::Full => 1.0,
    };
    share * grid.points() as f64
}

#[cfg(test)]
mod tests {
    use scope_model::ConditionErrors;

    use super::*;

    /// Masks of the protocol, of another record, are recognised by their coverage alone.
    #[test]
    fn a_condition_is_most_like_itself() {
        let sampler = MaskSampler::new(Pde::DARCY, 5, 128);
        let mut right = 0;
        let all = Condition::all(Pde::DARCY);
        for condition in &all {
            let masks = sampler.masks(Namespace::Test, 3, *condition, None);
            let nearest = Nearest::find(Pde::DARCY, &masks.seen, condition.task(), None).unwrap();
            let found = nearest.condition;
            assert_eq!(found.task(), condition.task());
            assert!((0.7..1.5).contains(&nearest.sensors_ratio), "{condition} {nearest:?}");
            right += usize::from(found == *condition);
        }
        assert!(right * 100 >= 75 * all.len(), "{right} of {}", all.len());
    }

    /// Errors that fall by half from 500 to 1,000 sensors, and by four thousandths of that beyond.
    #[test]
    fn a_condition_is_alike_while_errors_change_little() {
        let errors = |percent: f64| ConditionErrors { a: Some(percent), u: Some(percent), ber: None };
        let condition = |name: &str| -> Condition { name.parse().unwrap() };
        let known =
            [("inverse/uniform/500", 10.0), ("inverse/uniform/1024", 5.0), ("inverse/uniform/2048", 4.9)];
        let conditions = known.map(|(name, percent)| (condition(name), errors(percent))).into();
        let held_out = HeldOut { records: 10, origin: "test".into(), conditions };
        let alike = |name: &str, sensors_ratio: f64, gap_ratio: f64| {
            Nearest { condition: condition(name), sensors_ratio, gap_ratio }.is_alike(&held_out)
        };
        assert!(
            alike("inverse/uniform/500", 1.0, 1.0) && alike("inverse/uniform/500", 1.4, 1.4_f64.powf(-0.5))
        );
        assert!(!alike("inverse/uniform/500", 1.6, 1.6_f64.powf(-0.5)), "half the errors are near");
        assert!(alike("inverse/uniform/1024", 1.6, 1.6_f64.powf(-0.5)), "towards 2,048 nothing changes");
        assert!(!alike("inverse/uniform/1024", 0.6, 0.6_f64.powf(-0.5)), "towards 500 much does");
        assert!(!alike("inverse/uniform/500", 0.01, 5.0) && !alike("inverse/uniform/500", 1.0, 1.3));
        assert!(alike("inverse/uniform/500", 1.0, 1.2) && !alike("inverse/uniform/500", 1.0, 0.8));
    }

    #[test]
    fn only_what_was_evaluated_counts() {
        let sampler = MaskSampler::new(Pde::POISSON, 5, 64);
        let dense: Condition = "forward/uniform/8192".parse().unwrap();
        let masks = sampler.masks(Namespace::Test, 0, dense, None);
        let mut held_out = HeldOut::default();
        for name in ["forward/uniform/500", "inverse/uniform/8192"] {
            held_out.conditions.insert(name.parse().unwrap(), Default::default());
        }
        let nearest = Nearest::find(Pde::POISSON, &masks.seen, Task::Forward, Some(&held_out)).unwrap();
        assert_eq!(nearest.condition.to_string(), "forward/uniform/500");
        assert!((nearest.sensors_ratio - 8192.0 / 500.0).abs() < 0.1 && nearest.gap_ratio < 0.5);
        let other = Nearest::find(Pde::POISSON, &masks.seen, Task::Joint, Some(&held_out));
        assert_eq!(other.unwrap().condition.task(), Task::Joint);
    }
}
