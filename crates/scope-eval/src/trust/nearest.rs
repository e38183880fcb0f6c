//! Which of the protocol's conditions someone's own sensors are most like.

use scope_data::{
    PerChannel,
    observation::{
        Condition, Coverage, Layout, Mask, MaskSampler, NAMED_POINTS, Namespace, TEST_MASK_SEED, Task,
    },
};
use scope_model::HeldOut;
use scope_pde::Pde;
use serde::Serialize;

/// The condition most like a set of sensors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nearest {
    /// Which one.
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
        let size = measured.a.size();
        let own = Features::of(measured)?;
        let mut best: Option<(f64, Self)> = None;
        for condition in nearest_budgets(candidates, size, own.sensors) {
            let sampler = MaskSampler::new(pde, TEST_MASK_SEED, size);
            let other = Features::of(&sampler.masks(Namespace::Test, 0, condition, None).seen)?;
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
}

/// Means over the measured channels of the logarithms of sensors and mean gap.
#[derive(Clone, Copy)]
struct Features {
    sensors: f64,
    gap: f64,
}

impl Features {
    fn of(masks: &PerChannel<Mask>) -> Option<Self> {
        let measured: Vec<Coverage> = masks.iter().filter_map(Coverage::of).collect();
        let mean =
            |of: &dyn Fn(&Coverage) -> f64| measured.iter().map(of).sum::<f64>() / measured.len() as f64;
        // A field measured everywhere has no gap; a tenth of a pixel keeps its logarithm in reach.
        let floor = 0.1 / masks.a.size() as f64;
        (!measured.is_empty()).then(|| Self {
            sensors: mean(&|coverage| (coverage.sensors as f64).ln()),
            gap: mean(&|coverage| (coverage.mean_gap + floor).ln()),
        })
    }
}

/// Of each layout the condition with the number of points nearest to exp(`sensors`).
fn nearest_budgets(candidates: Vec<Condition>, size: usize, sensors: f64) -> Vec<Condition> {
    let apart = |condition: &Condition| (points(condition, size).ln() - sensors).abs();
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

/// Points that a condition observes on an S x S grid.
fn points(condition: &Condition, size: usize) -> f64 {
    let share = match condition.layout() {
        Layout::Family(_, budget) => budget as f64 / NAMED_POINTS as f64,
        Layout::BenchmarkUniform => 0.01,
        Layout::Full => 1.0,
    };
    share * (size * size) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masks of the protocol, of another record, are recognised by their coverage alone.
    #[test]
    fn a_condition_is_most_like_itself() {
        let sampler = MaskSampler::new(Pde::Darcy, 5, 128);
        let mut right = 0;
        let all = Condition::all(Pde::Darcy);
        for condition in &all {
            let masks = sampler.masks(Namespace::Test, 3, *condition, None);
            let nearest = Nearest::find(Pde::Darcy, &masks.seen, condition.task(), None).unwrap();
            let found = nearest.condition;
            assert_eq!(found.task(), condition.task());
            assert!((0.7..1.5).contains(&nearest.sensors_ratio), "{condition} {nearest:?}");
            right += usize::from(found == *condition);
        }
        assert!(right * 100 >= 75 * all.len(), "{right} of {}", all.len());
    }

    #[test]
    fn only_what_was_evaluated_counts() {
        let sampler = MaskSampler::new(Pde::Poisson, 5, 64);
        let dense: Condition = "forward/uniform/8192".parse().unwrap();
        let masks = sampler.masks(Namespace::Test, 0, dense, None);
        let mut held_out = HeldOut::default();
        for name in ["forward/uniform/500", "inverse/uniform/8192"] {
            held_out.conditions.insert(name.parse().unwrap(), Default::default());
        }
        let nearest = Nearest::find(Pde::Poisson, &masks.seen, Task::Forward, Some(&held_out)).unwrap();
        assert_eq!(nearest.condition.to_string(), "forward/uniform/500");
        assert!((nearest.sensors_ratio - 8192.0 / 500.0).abs() < 0.1 && nearest.gap_ratio < 0.5);
        let other = Nearest::find(Pde::Poisson, &masks.seen, Task::Joint, Some(&held_out));
        assert_eq!(other.unwrap().condition.task(), Task::Joint);
    }
}
