//! A step of a team: each rank goes forward and back on its parts of the batch, and the step is that of the whole.
//!
//! What a component measures over a batch is the mean over its rows, so a part's gradient counts by its share of them.
//! The floor under the spread is a property of the whole batch: latents of all parts are gathered before anyone goes
//! back.

use scope_data::schedule::Batch;
use scope_engine::{SpreadOfAll, Tape, Tensor, Var};

use super::{
    DeviceReport, Trainer,
    gradients::{CAP_SETS, Differentiated, is_zero},
    report::{MeasuredCap, scalar},
};
use crate::{
    error::TrainError,
    examples::Examples,
    losses::PassLosses,
    objective::{Component, Objective},
    run::DataLoader,
    schedule::Rates,
    team::{PartForward, Team, add, put},
};

/// A part of the batch that has gone forward through one view.
struct Part<'a> {
    tape: Tape<'a>,
    losses: Vec<(Component, Var)>,
    /// Latents that are watched, and held apart if the objective says so.
    latents: Option<Var>,
}

impl Part<'_> {
    fn measured(&self) -> Result<PartForward, TrainError> {
        let losses = self.losses.iter().map(|(_, loss)| Ok(loss.value().to_vec::<f32>()?[0]));
        let losses = losses.collect::<Result<_, TrainError>>()?;
        Ok(PartForward { losses, latents: self.latents.as_ref().map(|z| z.value().clone()) })
    }
}

impl Trainer {
    /// One step on the rows of a batch that this rank has.
    pub(super) fn step_in_team(
        &mut self,
        team: &mut Team,
        loader: &DataLoader<'_>,
        batch: &Batch,
        rates: Rates,
    ) -> Result<DeviceReport, TrainError> {
        let examples = |rows| loader.examples(&batch.rows(rows), self.device());
        let parts: Vec<Examples> = team.parts().into_iter().map(examples).collect::<Result<_, _>>()?;
        let done = self.differentiate_in_team(team, &parts)?;
        if let Some(cap) = &done.cap {
            self.counters.alpha = scalar(&cap.alpha)?;
        }
        let scalars = self.scalars(rates)?;
        team.set_torn(true);
        let report = self.update(Some(team), done, &scalars, rates)?;
        team.set_torn(false);
        self.counters.steps += 1;
        Ok(report)
    }

    /// Forward and backward; the combined gradient of the whole batch is left in the first buffer, on every rank.
    fn differentiate_in_team(
        &mut self,
        team: &mut Team,
        parts: &[Examples],
    ) -> Result<Differentiated, TrainError> {
        let measures = self.has_cap() && self.measures_cap();
        let mut done = Differentiated::default();
        let mut sums = Vec::new();
        for view in self.objective.by_view().into_iter().filter(|view| view.components().next().is_some()) {
            sums.extend(self.differentiate_view_in_team(team, &view, parts, measures, &mut done)?);
        }
        if !measures {
            // Views are summed last: their own sums do not depend on the number of ranks.
            let mut views = sums.into_iter();
            let mut total = views.next().unwrap_or_default();
            views.for_each(|other| add(&mut total, &other));
            put(&mut self.gradients, 0, &self.params, &total)?;
            return Ok(done);
        }
        for (at, sum) in sums.iter().enumerate() {
            put(&mut self.gradients, at, &self.params, sum)?;
        }
        let (field, others) = self.gradients.split_at_mut(1);
        let others: Vec<_> = others.iter().take(sums.len() - 1).collect();
        let capped = field[0].add_capped(&others, &CAP_SETS)?;
        done.cap = Some(MeasuredCap { norms: capped.norms, alpha: capped.alpha });
        Ok(done)
    }

    /// Forward and backward of what one view is needed for: a gradient for each component if the cap is measured, else
    /// one.
    fn differentiate_view_in_team(
        &mut self,
        team: &mut Team,
        view: &Objective,
        examples: &[Examples],
        measures: bool,
        done: &mut Differentiated,
    ) -> Result<Vec<Vec<f32>>, TrainError> {
        let mut scratch = match self.gradients.pop() {
            Some(gradients) => gradients,
            None => scope_engine::Gradients::zeros(&self.params)?,
        };
        let mut parts = Vec::new();
        for examples in examples {
            parts.push(self.forward_part(view, examples)?);
        }
        let losses = self.whole_losses(team, view, &mut parts, done)?;
        let places: Vec<Vec<usize>> = if measures {
            (0..losses.len()).map(|place| vec![place]).collect()
        } else {
            vec![(0..losses.len()).collect()]
        };
        let mut sums = Vec::new();
        for places in places {
            if let [place] = places[..]
                && measures
                && is_zero(losses[place].0, &losses[place].1)?
            {
                sums.push(vec![0.0; self.params.layout().len()]);
                continue;
            }
            let factor = |component| {
                if measures { self.objective.weight(component) } else { self.factor(component) }
            };
            sums.push(team.sum(|part, share| {
                let Part { tape, losses, .. } = &parts[part];
                let seed = |place: &usize| (&losses[*place].1, share * factor(losses[*place].0));
                scratch.restart()?;
                tape.backward(&places.iter().map(seed).collect::<Vec<_>>(), &mut scratch)?;
                Ok(scratch.flat().to_vec::<f32>()?)
            })?);
        }
        drop(parts);
        self.gradients.push(scratch);
        done.losses.extend(losses);
        Ok(sums)
    }

    /// Goes forward on one part as far as a view needs it; its own losses are those of every row by itself.
    fn forward_part(&self, view: &Objective, examples: &Examples) -> Result<Part<'_>, TrainError> {
        let tape = Tape::recording_in(&self.params, self.precision)?;
        let pass = self.trainable.forward(&tape, self.teacher.as_ref(), examples, view)?;
        let PassLosses(losses) = pass.losses(&tape, examples, &view.by_row())?;
        require_rows_alone(&tape)?;
        let predicted = pass.predicted.filter(|_| *view == self.objective);
        Ok(Part { tape, losses, latents: pass.complete.or(predicted) })
    }

    /// The losses of the whole batch, in the order of [`Component::ALL`]; every part is given the floor's beside its
    /// own.
    fn whole_losses(
        &self,
        team: &mut Team,
        view: &Objective,
        parts: &mut [Part<'_>],
        done: &mut Differentiated,
    ) -> Result<Vec<(Component, Tensor)>, TrainError> {
        let own: Vec<PartForward> = parts.iter().map(Part::measured).collect::<Result<_, _>>()?;
        let whole = team.gather(&own, self.device())?;
        let named = parts.first().map(|part| part.losses.iter().map(|(component, _)| *component).collect());
        let named: Vec<Component> = named.unwrap_or_default();
        let mut losses = Vec::new();
        for (component, loss) in named.into_iter().zip(&whole.losses) {
            losses.push((component, Tensor::from_slice(self.device(), &[1], &[*loss as f32])?));
        }
        let Some(latents) = whole.latents else { return Ok(losses) };
        if let Some(part) = parts.first() {
            done.latent_std = Some(part.tape.mean_spread(&part.tape.input(latents.clone()))?);
        }
        if view.has(Component::Variance) {
            let all = SpreadOfAll::measure(&latents, view.std_floor)?;
            // Of the components that need the complete view, it is the last.
            losses.push((Component::Variance, all.loss().clone()));
            for part in parts {
                let floor = part.latents.as_ref().map(|z| part.tape.spread_floor_of_all(z, &all));
                part.losses.extend(floor.map(|floor| (Component::Variance, floor)));
            }
        }
        Ok(losses)
    }
}

/// Refuses a network that normalises over whole batches.
pub(super) fn require_rows_alone(tape: &Tape<'_>) -> Result<(), TrainError> {
    if tape.batch_statistics().is_empty() {
        return Ok(());
    }
    Err(TrainError::Request(
        "this network normalises over whole batches, which parts of a batch do not have: train it in one process, \
         without parts"
            .to_owned(),
    ))
}
