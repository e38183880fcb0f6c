//! The gradient of a step: forward, backward for each component, and the cap.

use scope_engine::{BatchStatistics, DeviceGroup, Gradients, SpreadOfAll, Tape, Tensor, Var};

use super::{
    Trainer,
    in_team::require_rows_alone,
    report::{MeasuredCap, scalar},
};
use crate::{
    error::TrainError,
    examples::Examples,
    losses::PassLosses,
    objective::{Component, Objective},
};

/// The parameter sets on which the cap holds: all, and the encoder's.
pub(super) const CAP_SETS: [&str; 2] = ["", "encoder"];

/// Which components' gradients a step computes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Passes<'a> {
    /// All but those that are exactly zero, which the device is asked for.
    AsNeeded,
    /// The gradients of all components.
    All,
    /// All but the variance term's; if that was not zero after all, the step is void: its norm is not finite, and
    /// nothing changes.
    AllButVariance,
    /// The sum of all, each times a factor \[1\] that lies on the device.
    Together(&'a [Tensor]),
}

impl Passes<'_> {
    /// Whether a component's gradient is computed.
    pub(super) fn goes_back(self, component: Component) -> bool {
        !matches!(self, Passes::AllButVariance) || component != Component::Variance
    }
}

/// What forward and backward passes measure beside the gradient.
#[derive(Default)]
pub(super) struct Differentiated {
    pub(super) losses: Vec<(Component, Tensor)>,
    pub(super) cap: Option<MeasuredCap>,
    pub(super) latent_std: Option<Tensor>,
    /// Statistics of the batch that batch normalisations have seen.
    pub(super) batch_statistics: Vec<BatchStatistics>,
}

impl Trainer {
    /// Whether the next step measures the cap.
    pub(super) fn measures_cap(&self) -> bool {
        self.counters.steps.is_multiple_of(self.cap_every)
    }

    /// Whether there is anything to cap: several components whose gradients are capped.
    pub(super) fn has_cap(&self) -> bool {
        self.objective.capped && self.objective.components().count() > 1
    }

    /// What a component's loss is multiplied with in a step that does not measure the cap: its weight and, beside
    /// others, the factor measured last.
    pub(super) fn factor(&self, component: Component) -> f64 {
        let capped = self.has_cap() && component != Component::Field;
        self.objective.weight(component) * if capped { self.counters.alpha } else { 1.0 }
    }

    /// Forward and backward; the combined gradient is left in the first buffer.
    pub(super) fn differentiate(
        &mut self,
        examples: &Examples,
        passes: Passes<'_>,
    ) -> Result<Differentiated, TrainError> {
        let measures = self.has_cap()
            && match passes {
                Passes::AsNeeded => self.measures_cap(),
                Passes::Together(_) => false,
                Passes::All | Passes::AllButVariance => true,
            };
        let going_back = self.objective.components().filter(|component| passes.goes_back(*component)).count();
        let buffers = if measures { going_back } else { 1 };
        while self.gradients.len() < buffers {
            self.gradients.push(Gradients::zeros(&self.params)?);
        }
        for gradients in &mut self.gradients[..buffers] {
            gradients.restart()?;
        }
        // What one view's passes remember is forgotten before the other's begin: that halves the memory.
        let mut done = Differentiated::default();
        let views: Vec<Objective> =
            self.objective.by_view().into_iter().filter(|view| view.components().next().is_some()).collect();
        for (place, view) in views.iter().enumerate() {
            // Gradients that several views add to are those of the whole after the last.
            let reduces = measures || place + 1 == views.len();
            self.differentiate_view(view, examples, passes, [measures, reduces], &mut done)?;
        }
        self.group.as_deref().map_or(Ok(()), DeviceGroup::join)?;
        if measures {
            let (field, others) = self.gradients.split_at_mut(1);
            let others: Vec<&Gradients> = others.iter().take(buffers - 1).collect();
            let capped = field[0].add_capped(&others, &CAP_SETS)?;
            done.cap = Some(MeasuredCap { norms: capped.norms, alpha: capped.alpha });
        }
        for (_, loss) in done.losses.iter().filter(|(component, _)| !passes.goes_back(*component)) {
            self.gradients[0].void_unless_zero(loss)?;
        }
        Ok(done)
    }

    /// Forward and backward of what one view is needed for: into a buffer for each component if the cap is measured,
    /// else into the first. Over several devices, losses and gradients are the means over all of them, and the floor
    /// under the spread is that of the whole batch.
    fn differentiate_view(
        &mut self,
        view: &Objective,
        examples: &Examples,
        passes: Passes<'_>,
        [measures, reduces]: [bool; 2],
        done: &mut Differentiated,
    ) -> Result<(), TrainError> {
        let before = done.losses.len();
        let tape = Tape::recording_in(&self.params, self.precision)?;
        let group = self.group.as_deref();
        let tape = match group.filter(|_| reduces) {
            Some(group) => tape.with_mean_over(group),
            None => tape,
        };
        let pass = self.trainable.forward(&tape, self.teacher.as_ref(), examples, view)?;
        group.filter(|group| group.size() > 1).map_or(Ok(()), |_| require_rows_alone(&tape))?;
        let by_row = if group.is_some() { view.by_row() } else { *view };
        let PassLosses(mut losses) = pass.losses(&tape, examples, &by_row)?;
        for (component, loss) in &losses {
            let loss = loss.value().clone();
            let mean = match group {
                Some(group) => group.mean(loss)?,
                None => loss,
            };
            done.losses.push((*component, mean));
        }
        // The complete view's latents are the ones watched, where there are any.
        let watched = pass.complete.as_ref().or(pass.predicted.as_ref().filter(|_| *view == self.objective));
        if let Some(z) = watched {
            losses.extend(watch_spread(&tape, group, z, view, done)?.map(|loss| (Component::Variance, loss)));
        }
        drop(pass);
        let seen = losses.iter().enumerate().filter(|(_, (component, _))| passes.goes_back(*component));
        if measures {
            for (place, (component, loss)) in seen {
                let gradients = &mut self.gradients[before + place];
                if matches!(passes, Passes::AsNeeded) && is_zero(*component, loss.value())? {
                    gradients.clear()?;
                } else {
                    tape.backward(&[(loss, self.objective.weight(*component))], gradients)?;
                }
            }
        } else if let Passes::Together(factors) = passes {
            let seeds: Vec<(&Var, Tensor)> =
                seen.map(|(place, (_, loss))| (loss, factors[before + place].clone())).collect();
            tape.backward_from(&seeds, &mut self.gradients[0])?;
        } else {
            let seeds: Vec<(&Var, f64)> =
                seen.map(|(_, (component, loss))| (loss, self.factor(*component))).collect();
            tape.backward(&seeds, &mut self.gradients[0])?;
        }
        done.batch_statistics.extend(tape.batch_statistics());
        Ok(())
    }
}

/// Measures the spread of latents. Over several devices it is that of the whole batch, and so is the floor under it:
/// its loss is given back, for one device has it among its own losses.
fn watch_spread(
    tape: &Tape<'_>,
    group: Option<&dyn DeviceGroup>,
    z: &Var,
    view: &Objective,
    done: &mut Differentiated,
) -> Result<Option<Var>, TrainError> {
    let Some(group) = group else {
        done.latent_std = Some(tape.mean_spread(z)?);
        return Ok(None);
    };
    let all = group.gather(z.value())?;
    done.latent_std = Some(tape.mean_spread(&tape.input(all.clone()))?);
    if !view.has(Component::Variance) {
        return Ok(None);
    }
    let all = SpreadOfAll::measure(&all, view.std_floor)?;
    // Of the components that need the complete view, it is the last.
    done.losses.push((Component::Variance, all.loss().clone()));
    Ok(Some(tape.spread_floor_of_all(z, &all)))
}

/// Whether a component's gradient is exactly zero: a variance term whose every coordinate clears the floor.
pub(super) fn is_zero(component: Component, loss: &Tensor) -> Result<bool, TrainError> {
    Ok(component == Component::Variance && scalar(loss)? == 0.0)
}
