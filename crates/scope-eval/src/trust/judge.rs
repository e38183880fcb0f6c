//! Which warnings a recovery earns.

use scope_data::{
    Channel, Constants, PerChannel,
    observation::{Family, NAMED_POINTS, UserContext},
};
use scope_model::{CardTraining, ConditionErrors, Training};
use scope_pde::Pde;

use super::{
    Known, Trust,
    misfit::{Fitted, misfit_of_noise, root_mean_square},
    warning::{UNUSUAL_SIGMAS, Usual, Warning},
};

/// Counts of sensors up to this share beyond those of training are not worth a word.
const SLACK: f64 = 0.1;
/// Sensors leave gaps when these are so many times as wide as those of the nearest condition.
const WIDE_GAPS: f64 = 1.5;
/// A recovery that misses its own sensors by more than this many times the held-out error does not fit them. Of 2,000
/// recoveries of exact readings by the five shipped models, from 500 to 8,192 scattered sensors, those of Poisson,
/// Helmholtz, Darcy and Navier-Stokes missed them by 1.9 times at most, and six of 400 flows past a cylinder by more
/// than 2.5, which were harder than others.
const POOR_FIT: f64 = 2.5;
/// A recovery that misses its own sensors by more than this does not fit them, however large the held-out error is.
const POOR_FIT_PERCENT: f64 = 50.0;
/// Fields with a mean error above this, in percent, are hardly recovered.
const LARGE_ERROR_PERCENT: f64 = 50.0;
/// Measurements are unlike those of fresh records if they are off by more than this many times the worst of these.
const BEYOND_FRESH: f64 = 1.2;
/// Readings look noisy if neighbours differ from the recovery by more than this many times the held-out error of their
/// field. Exact ones differ by up to 0.55 times that error (five records each of the five shipped models, five
/// conditions of uniform sensors).
const LOOKS_NOISY: f64 = 0.7;
/// The same on a grid, where errors between sensors are smaller: there exact readings differ by up to 0.80 times the
/// error.
const LOOKS_NOISY_ON_GRID: f64 = 1.0;
/// Where the whole misfit is as rough as noise, less of it looks noisy. The misfit of exact readings of Darcy's u and
/// of u of Navier-Stokes is smooth: neighbours differ by 0.70 of it at most.
const ROUGH: f64 = 0.72;
const ROUGH_LOOKS_NOISY: f64 = 0.45;
/// Flows past a disk are smoother: there neighbours differ by 0.35 of the misfit at most (244 records, 500 to 8,192
/// scattered sensors of a or of u, the shipped model), and bands that follow the misfit are widened by less noise.
const ROUGH_PAST_DISK: f64 = 0.45;
const ROUGH_PAST_DISK_LOOKS_NOISY: f64 = 0.15;
/// With fewer sensors than this it cannot be told how rough a misfit is.
const FEWEST_FOR_ROUGHNESS: usize = 100;
/// A noise that may go unnoticed is told of if it is more than this share of the field's standard deviation, and of its
/// error.
const UNSEEN_NOISE: f64 = 0.01;
const UNSEEN_BESIDE_ERROR: f64 = 0.5;
/// Readings look noisier than stated if neighbours differ from the recovery by more than this many times the noise.
const NOISIER: f64 = 1.5;

/// All of one recovery that warnings are found by.
pub(super) struct Case<'a> {
    pub(super) pde: Pde,
    pub(super) constants: &'a Constants,
    pub(super) known: Known<'a>,
    pub(super) context: &'a UserContext,
    /// The sensors of each channel, and what was recovered there.
    pub(super) fitted: PerChannel<Vec<Fitted>>,
    /// Held-out errors for exact readings of sensors like these, where there are any.
    pub(super) reference: Option<ConditionErrors>,
}

impl Case<'_> {
    /// All that speaks against a recovery.
    pub(super) fn warnings(&self, trust: &Trust) -> Vec<Warning> {
        let mut all = self.of_the_model(trust);
        if self.pde.has_record_regions() && !self.context.region_given {
            all.push(Warning::NoGeometry { disk: self.pde.has_disk() });
        }
        for channel in Channel::BOTH {
            all.extend(self.outside_range(channel));
            all.extend(self.noise_beyond(trust, channel));
            let noisy = self.noisy(trust, channel);
            // What no noise explains is not to be had by stating one.
            let noisy = self.poor_fit(trust, channel, noisy.is_some()).or(noisy);
            all.extend(noisy.or_else(|| self.unseen_noise(channel)));
        }
        // What is measured for the very sensors needs no comparison with others.
        if self.known.calibrated.is_none() {
            all.extend(self.of_the_layout(trust));
        }
        if self.context.shared > 0 {
            all.push(Warning::Shared(self.context.shared));
        }
        all
    }

    /// What the model was not made for, or does badly.
    fn of_the_model(&self, trust: &Trust) -> Vec<Warning> {
        let mut all = Vec::new();
        if let Some(training) = self.known.training.filter(|training| training.draws < training.planned) {
            all.push(Warning::CutShort { draws: training.draws, planned: training.planned });
        }
        let (tasks, _) = CardTraining::covers(self.known.training);
        if !tasks.iter().any(|task| task.name() == trust.task) {
            all.push(Warning::Task(trust.task));
        }
        all.extend(self.large_errors(trust));
        if self.noise_is_stated() && self.known.noise_trained().is_none() && self.known.training.is_some() {
            all.push(Warning::TakenAsExact);
        }
        all
    }

    /// Sensors unlike those that anything is known of.
    fn of_the_layout(&self, trust: &Trust) -> Vec<Warning> {
        let mut all: Vec<Warning> =
            Channel::BOTH.into_iter().filter_map(|channel| self.unusual_count(channel)).collect();
        let can_be_measured = Training::is_of_fresh_records(self.known.training, self.pde);
        let evaluated = trust.nearest.as_ref().filter(|nearest| {
            self.known.held_out.is_some_and(|held_out| held_out.conditions.contains_key(&nearest.condition))
        });
        match evaluated {
            None => {
                all.push(Warning::NoHeldOut(trust.task));
                all.extend(self.gaps(trust));
            }
            Some(nearest) if self.reference.is_none() => all.push(Warning::NoReference {
                condition: nearest.condition,
                sensors_ratio: nearest.sensors_ratio,
                gap_ratio: nearest.gap_ratio,
                can_be_measured,
            }),
            Some(_) if self.noise_is_stated() => all.push(Warning::NoReferenceForNoise { can_be_measured }),
            Some(_) => {}
        }
        all
    }

    fn gaps(&self, trust: &Trust) -> Option<Warning> {
        let nearest = trust.nearest.as_ref().filter(|nearest| nearest.gap_ratio > WIDE_GAPS)?;
        let both = [trust.coverage.a, trust.coverage.u];
        let largest = both.iter().flatten().map(|coverage| coverage.largest_gap).fold(0.0, f64::max);
        Some(Warning::Gaps { ratio: nearest.gap_ratio, condition: nearest.condition, largest })
    }

    fn outside_range(&self, channel: Channel) -> Option<Warning> {
        let scaling = self.constants[channel];
        let usual = UNUSUAL_SIGMAS * scaling.sigma;
        let card = self.known.card;
        let [low, high] =
            card.map_or([scaling.mean - usual, scaling.mean + usual], |card| card.range[channel]);
        // Neither rounding to single precision nor a stated noise must put a value outside.
        let slack = 1e-5 * (high - low) + 3.0 * self.stated(channel).unwrap_or(0.0);
        let mask = &self.context.measured[channel];
        let values = mask.points().map(|point| scaling.physical(self.context.values[channel][point]));
        let count = values.filter(|value| *value < low - slack || *value > high + slack).count();
        let of = mask.count();
        let range = [low, high];
        let known = card.is_some();
        (count > 0).then(|| Warning::OutsideRange { channel: channel.name(), count, of, range, known })
    }

    fn unusual_count(&self, channel: Channel) -> Option<Warning> {
        let (_, covered) = CardTraining::covers(self.known.training);
        let trained = self.known.card.map_or(covered, |card| card.training.sensors);
        let mask = &self.context.measured[channel];
        let [fewest, most] = trained.map(|named| {
            (named as f64 * mask.shape().points() as f64 / NAMED_POINTS as f64).round() as usize
        });
        let channel = channel.name();
        let sensors = mask.count();
        match sensors {
            0 => None,
            few if (few as f64) < (1.0 - SLACK) * fewest as f64 => {
                Some(Warning::Fewer { channel, sensors, trained: fewest })
            }
            many if many as f64 > (1.0 + SLACK) * most as f64 => {
                Some(Warning::More { channel, sensors, trained: most })
            }
            _ => None,
        }
    }

    /// The noise of a channel that was stated, if it is any.
    fn stated(&self, channel: Channel) -> Option<f64> {
        self.known.noise.map(|noise| noise[channel]).filter(|noise| *noise > 0.0)
    }

    /// Whether a noise was stated of anything that is measured.
    pub(super) fn noise_is_stated(&self) -> bool {
        let measured = |channel: &Channel| self.context.measured[*channel].count() > 0;
        Channel::BOTH.into_iter().filter(measured).any(|channel| self.stated(channel).is_some())
    }

    /// What the noise of a channel looks like, in physical units.
    fn estimated(&self, trust: &Trust, channel: Channel) -> Option<f64> {
        let percent = trust.noise_percent[channel]?.estimated?;
        Some(percent / 100.0 * self.constants[channel].sigma)
    }

    fn noise_beyond(&self, trust: &Trust, channel: Channel) -> Option<Warning> {
        let [_, trained] = self.known.noise_trained()?;
        let trained = 100.0 * trained;
        let percent = trust.noise_percent[channel]?.stated?;
        (percent > (1.0 + SLACK) * trained).then(|| Warning::NoiseBeyond {
            channel: channel.name(),
            percent,
            trained,
        })
    }

    /// Readings that are noisier than stated. Where nothing is known of the errors of a recovery, its roughness cannot
    /// be told from noise.
    fn noisy(&self, trust: &Trust, channel: Channel) -> Option<Warning> {
        let noise = trust.noise_percent[channel]?;
        let estimated = self.estimated(trust, channel)?;
        let most = match self.known.calibrated {
            Some(calibrated) => BEYOND_FRESH * calibrated.largest_noise[channel]?,
            None => self
                .of_exact_ones(trust, channel, estimated)?
                .hypot(NOISIER * self.stated(channel).unwrap_or(0.0)),
        };
        let percent = noise.estimated?;
        (estimated > most).then(|| Warning::Noisy { channel: channel.name(), percent, stated: noise.stated })
    }

    /// How far apart residuals of neighbouring exact readings may be at most, where they are as far apart as this.
    fn of_exact_ones(&self, trust: &Trust, channel: Channel, estimated: f64) -> Option<f64> {
        // Beside errors as large as the field itself nothing looks like noise.
        let error = self.reference?.of(channel).filter(|error| *error <= LARGE_ERROR_PERCENT)?;
        let scaling = self.constants[channel];
        let size_of_field = scaling.mean.hypot(scaling.sigma).max(root_mean_square(&self.fitted[channel]));
        let on_grid = trust.nearest.as_ref()?.condition.layout_name() == Family::GRID.name();
        let [share, rough] = match self.pde.has_disk() {
            true => [ROUGH_PAST_DISK, ROUGH_PAST_DISK_LOOKS_NOISY],
            false => [ROUGH, ROUGH_LOOKS_NOISY],
        };
        let times = match on_grid {
            true => LOOKS_NOISY_ON_GRID,
            false if self.is_known_smooth(channel) && self.is_rough(channel, estimated, share) => rough,
            false => LOOKS_NOISY,
        };
        Some(times * error / 100.0 * size_of_field)
    }

    /// Whether the misfit of exact readings is known to be smooth. That of a Gaussian field is as rough as noise
    /// itself, but such readings are compared with the field's own distribution; of a problem of one's own nothing is
    /// known.
    fn is_known_smooth(&self, channel: Channel) -> bool {
        let descriptor = self.pde.descriptor();
        self.stated(channel).is_none() && descriptor.solver.is_some() && !descriptor.prior.covers(channel)
    }

    /// Whether neighbouring residuals, with such a robust standard deviation of their differences, differ by more than
    /// this share of what they are.
    fn is_rough(&self, channel: Channel, estimated: f64, share: f64) -> bool {
        let sensors = &self.fitted[channel];
        let squares: f64 = sensors.iter().map(|sensor| sensor.residual().powi(2)).sum();
        let misfit = (squares / sensors.len().max(1) as f64).sqrt();
        sensors.len() >= FEWEST_FOR_ROUGHNESS && estimated > share * misfit
    }

    /// A noise that readings may have without looking noisy, where none was stated and errors are those of fresh exact
    /// ones.
    fn unseen_noise(&self, channel: Channel) -> Option<Warning> {
        let calibrated = self.known.calibrated.filter(|_| self.known.noise.is_none())?;
        if self.fitted[channel].is_empty() {
            return None;
        }
        let percent = calibrated.largest_noise[channel]
            .map(|largest| 100.0 * BEYOND_FRESH * largest / self.constants[channel].sigma);
        let error = calibrated.error_percent[channel].unwrap_or(0.0);
        let least = f64::max(100.0 * UNSEEN_NOISE, UNSEEN_BESIDE_ERROR * error);
        let matters = percent.is_none_or(|percent| percent > least);
        matters.then(|| Warning::UnseenNoise { channel: channel.name(), percent })
    }

    /// A recovery that is further from its measurements than their noise and its own errors explain.
    fn poor_fit(&self, trust: &Trust, channel: Channel, looks_noisy: bool) -> Option<Warning> {
        let percent = trust.misfit_percent[channel]?;
        let stated = self.stated(channel).unwrap_or(0.0);
        let noise = if looks_noisy { self.estimated(trust, channel).unwrap_or(stated) } else { stated };
        let sensors = &self.fitted[channel];
        // Fresh records have the stated noise themselves.
        let unknown = match self.known.calibrated {
            Some(_) => (noise.powi(2) - stated.powi(2)).max(0.0).sqrt(),
            None => noise,
        };
        // The mean square of n normal errors is rarely more than three standard errors above its expectation.
        let chance = 1.0 + 3.0 / (2.0 * sensors.len() as f64).sqrt();
        let explained = chance * misfit_of_noise(sensors, unknown);
        let excess = (percent.powi(2) - explained.powi(2)).max(0.0).sqrt();
        let held_out = self.reference.and_then(|errors| errors.of(channel));
        let (limit, usual) = match (self.known.calibrated, held_out) {
            (Some(calibrated), _) => {
                (BEYOND_FRESH * calibrated.largest_misfit_percent[channel]?, Usual::Better)
            }
            (None, Some(error)) if excess > POOR_FIT * error => (POOR_FIT * error, Usual::Better),
            (None, Some(_)) => (POOR_FIT_PERCENT, Usual::Alike),
            (None, None) => (POOR_FIT_PERCENT, Usual::Unknown),
        };
        // An error that is no number is not a small one.
        let fits = if percent.is_nan() { false } else { excess <= limit };
        let beyond_noise = stated > 0.0;
        (!fits).then(|| Warning::PoorFit { channel: channel.name(), percent, usual, beyond_noise })
    }

    /// Warns of large expected errors of the worse channel.
    fn large_errors(&self, trust: &Trust) -> Option<Warning> {
        let errors = match self.known.calibrated {
            Some(calibrated) => calibrated.error_percent,
            None => PerChannel::from_fn(|channel| self.reference.and_then(|errors| errors.of(channel))),
        };
        let known = Channel::BOTH.into_iter().filter_map(|channel| Some((channel, errors[channel]?)));
        let (channel, percent) = known.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        let condition = trust.nearest.as_ref().map(|nearest| nearest.condition);
        let condition = condition.filter(|_| self.known.calibrated.is_none());
        // An error that is no number is not a small one.
        let small = percent <= LARGE_ERROR_PERCENT;
        let trained = self.known.card.is_some();
        (!small).then(|| Warning::LargeErrors { condition, channel: channel.name(), percent, trained })
    }
}
