//! The bands of someone's own sensors, if they are like those that bands were measured for.

use scope_data::{
    Channel, Fields, PerChannel,
    observation::{ContextMasks, Coverage, Task},
};
use thiserror::Error;

use super::{Bands, LayoutBands, Measured, Misfits, Places, check::task_of, misfit::relative_misfit};

/// Numbers of sensors up to this share beyond those measured take the bands at the end.
const SLACK: f64 = 0.1;
/// Gaps may be wider than any that occurred by this share.
const GAP_SLACK: f64 = 0.05;
/// Joint problems were measured with as many sensors of a as of u; bands hold up to this ratio.
const UNEQUAL: f64 = 1.5;

/// Half-widths for one set of sensors.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldBands {
    /// The task and layout they were measured under, as in `inverse/uniform`.
    pub like: String,
    /// The measured numbers of sensors they lie between; equal at an end.
    pub between: [usize; 2],
    /// The shares of pixels that lie within, on average over records.
    pub levels: [f64; 2],
    /// The half-widths of each level, in physical units.
    pub half_widths: [Fields; 2],
    /// How many times as wide as usual those of a and of u are, by how far the recovery is from its readings; none in
    /// older cards.
    pub widening: Option<PerChannel<f64>>,
}

/// Why there are no bands for sensors.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum NoBands {
    /// Nothing was measured under this task.
    #[error("no error bands were measured for {0} problems")]
    Task(&'static str),
    /// A number of sensors beyond those measured.
    #[error("error bands were measured for {fewest} to {most} sensors of a field, not for {sensors}")]
    Sensors {
        /// How many sensors there are.
        sensors: usize,
        /// The fewest that bands were measured for.
        fewest: usize,
        /// The most that bands were measured for.
        most: usize,
    },
    /// A joint problem with far more sensors of one channel.
    #[error(
        "error bands of joint problems were measured for as many sensors of a as of u, not for {a} and {u}"
    )]
    Unequal {
        /// How many sensors of a there are.
        a: usize,
        /// How many sensors of u there are.
        u: usize,
    },
    /// Gaps wider than under any layout.
    #[error(
        "the sensors leave wider gaps (of {mean:.3} on average and {largest:.2} at most, in sides of the square) than \
         the layouts that error bands were measured for with so many"
    )]
    Gaps {
        /// The mean gap.
        mean: f64,
        /// The widest.
        largest: f64,
    },
}

impl Bands {
    /// The half-widths of every pixel for sensors at these points: those of the layout under which sensors most likely
    /// lie so, of the layouts whose gaps are as wide. `misfits` are those of the recovery that the bands are about.
    pub fn of(&self, task: Task, masks: &ContextMasks, misfits: &Misfits) -> Result<FieldBands, NoBands> {
        let seen = Measured::all(masks, task);
        let counts = seen.iter().map(|channel| channel.sensors);
        let fewest = counts.clone().min().unwrap_or(0);
        let most = counts.max().unwrap_or(0);
        if most as f64 > UNEQUAL * fewest as f64 {
            let [a, u] = Channel::BOTH.map(|channel| masks.sensors(channel).count());
            return Err(NoBands::Unequal { a, u });
        }
        // Errors of joint problems depend on both numbers about equally.
        let between = (fewest as f64 * most as f64).sqrt().round() as usize;
        let (like, layout, at) = self.layout(task, between, &seen)?;
        let places = Places::of(masks, task, self.smooth);
        let relative = layout.misfits().zip(*misfits).map(|(usual, misfit)| {
            usual.zip(misfit).map(|(usual, misfit)| relative_misfit(misfit, at.width(usual)))
        });
        let widening = PerChannel::from_fn(|channel| layout.of(channel).widening(&relative));
        let [a, u] = Channel::BOTH.map(|channel| {
            let bands = layout.of(channel);
            let shape = bands.shape(&places);
            [0, 1].map(|level| scaled(&shape, widening[channel] * at.width(&bands.widths[level])))
        });
        let [a_low, a_high] = a;
        let [u_low, u_high] = u;
        Ok(FieldBands {
            like: like.to_owned(),
            between: [layout.sensors[at.low], layout.sensors[at.high]],
            levels: self.levels,
            half_widths: [Fields { a: a_low, u: u_low }, Fields { a: a_high, u: u_high }],
            widening: relative.iter().any(Option::is_some).then_some(widening),
        })
    }

    /// The layout that is like the sensors, and where their number lies among those measured.
    fn layout(
        &self,
        task: Task,
        sensors: usize,
        seen: &[Measured],
    ) -> Result<(&str, &LayoutBands, Between), NoBands> {
        let of_task = || self.layouts.iter().filter(|(name, _)| task_of(name) == Some(task));
        let numbers = || of_task().flat_map(|(_, layout)| &layout.sensors).copied();
        let (Some(fewest), Some(most)) = (numbers().min(), numbers().max()) else {
            return Err(NoBands::Task(task.name()));
        };
        let mut possible: Vec<(f64, &str, &LayoutBands, Between)> = of_task()
            .filter_map(|(name, layout)| {
                let at = Between::find(&layout.sensors, sensors)?;
                let likelihood = seen.iter().map(|one| one.arrangement.likelihood(layout, at)).sum();
                Some((likelihood, name.as_str(), layout, at))
            })
            .collect();
        if possible.is_empty() {
            return Err(NoBands::Sensors { sensors, fewest, most });
        }
        possible.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
        let widest = |of: fn(&Coverage) -> f64| seen.iter().map(|one| of(&one.coverage)).fold(0.0, f64::max);
        let mean = widest(|c| c.mean_gap);
        let largest = widest(|c| c.largest_gap);
        let holds = |limit: f64, gap: f64| gap <= (1.0 + GAP_SLACK) * limit;
        let like = possible.into_iter().find(|(_, _, layout, at)| {
            holds(at.mean(&layout.mean_gap), mean) && holds(at.mean(&layout.largest_gap), largest)
        });
        let (_, name, layout, at) = like.ok_or(NoBands::Gaps { mean, largest })?;
        Ok((name, layout, at))
    }
}

/// A number between two measured ones: at `share` of the way from the first to the second, by logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Between {
    low: usize,
    high: usize,
    share: f64,
}

impl Between {
    /// The measured numbers that a number lies between; none for one beyond them.
    fn find(numbers: &[usize], number: usize) -> Option<Self> {
        let first = *numbers.first()? as f64;
        let last = *numbers.last()? as f64;
        let value = number as f64;
        if value < (1.0 - SLACK) * first || value > (1.0 + SLACK) * last {
            return None;
        }
        let value = value.clamp(first, last);
        let high = numbers.partition_point(|known| (*known as f64) < value);
        let low = if numbers[high] as f64 == value { high } else { high - 1 };
        let share = if low == high {
            0.0
        } else {
            (value / numbers[low] as f64).ln() / (numbers[high] as f64 / numbers[low] as f64).ln()
        };
        Some(Self { low, high, share })
    }

    /// The straight line between two values.
    pub(super) fn mean(&self, values: &[f64]) -> f64 {
        (1.0 - self.share) * values[self.low] + self.share * values[self.high]
    }

    /// The power law between two positive values.
    fn width(&self, values: &[f64]) -> f64 {
        values[self.low].powf(1.0 - self.share) * values[self.high].powf(self.share)
    }
}

fn scaled(shape: &[f64], width: f64) -> Vec<f32> {
    shape.iter().map(|factor| (factor * width) as f32).collect()
}
