//! The Gaussian posterior of someone's own sensors: the exact one, or that of a linear fit.

use scope_data::{
    Channel, PerChannel,
    frame::Frame,
    observation::{Placed, Spot, UserContext},
    significant,
};
use scope_eval::{
    PosteriorMethod, RecoveryMethod, single_precision,
    trust::{Contradiction, Residual, Residuals, Suspects, Warning},
};
use scope_exact::{Innovations, LeaveOneOut, ModelCheck, Posterior, PosteriorError, Reading, rounding_noise};
use scope_model::{Fields, MethodKind, impose_certainty, impose_known_facts};

use super::{
    error::RecoveryError,
    posterior_spread::Spread,
    problem::Problem,
    recovered::Uncertainty,
    remark::{Remark, remarks},
    summary::MethodSummary,
};

/// At most this share of a problem's readings is left out for not fitting the others, or one.
const MOST_LEFT_OUT: f64 = 0.1;

/// No less noise than this share of a field's standard deviation is said to explain readings.
const LEAST_NOISE: f64 = 1e-7;

/// Few digits are spoken of where they are off by so many times what single precision is.
const NOTICED_ROUNDING: f64 = 10.0;

/// An amplitude that was estimated is taken to be off by so many of its standard deviations at most.
const AMPLITUDE_SIGMAS: f64 = 4.0;

/// Options of a recovery by a posterior: the noise of readings, standard deviations, draws, coordinates and units.
#[derive(Clone, Copy, Debug)]
pub struct PosteriorOptions {
    /// The standard deviations of the readings' errors, in the frame's units; without them, readings are taken to be
    /// off by no more than rounding, to the digits that they are written with and to single precision.
    pub noise: Option<PerChannel<f64>>,
    /// Whether readings that do not fit the others are left out.
    pub drop_suspects: bool,
    /// Whether the standard deviation of every pixel is computed, which takes most of the time.
    pub deviations: bool,
    /// The number of draws of both fields from their distribution given the sensors.
    pub samples: usize,
    /// The seed of the draws.
    pub seed: u64,
    /// The coordinates and units of sensors, noise and fields.
    pub frame: Frame,
}

impl Default for PosteriorOptions {
    /// Exact measurements, all of them used, standard deviations, no draws.
    fn default() -> Self {
        Self {
            noise: None,
            drop_suspects: false,
            deviations: true,
            samples: 0,
            seed: 20_261_013,
            frame: Frame::default(),
        }
    }
}

/// A posterior on one grid.
pub(super) struct GaussianRecovery {
    method: PosteriorMethod,
    options: PosteriorOptions,
}

/// The posterior given some sensors.
pub(super) struct Estimate {
    /// The problem, but for readings that were left out.
    pub(super) problem: Problem,
    /// The posterior's mean.
    pub(super) fields: Fields,
    /// How far it may be off, if that was asked for.
    pub(super) uncertainty: Uncertainty,
    /// Draws from it.
    pub(super) samples: Vec<Fields>,
    /// The readings beside what the others say of them.
    pub(super) residuals: Option<Residuals>,
    /// What speaks against it.
    pub(super) warnings: Vec<Warning>,
    pub(super) remarks: Vec<Remark>,
    /// Whether the readings were compared with those of held-out records, which decides whether their values are
    /// unusual.
    pub(super) compared: bool,
}

/// A reading beside what the others say of it, with its number in the order given.
type Numbered = (usize, Residual);

impl GaussianRecovery {
    pub(super) fn new(method: PosteriorMethod, options: PosteriorOptions) -> Self {
        let stated = options.noise.unwrap_or_default();
        Self { method: method.with_noise(options.frame.widths_to_ours(stated)), options }
    }

    pub(super) fn summary(&self) -> MethodSummary {
        let identity = self.method.identity();
        MethodSummary {
            pde: self.method.pde(),
            constants: self.method.constants(),
            resolution: self.method.resolution(),
            frame: self.options.frame,
            is_posterior: true,
            makes_fresh_records: false,
            name: identity.kind.name().to_owned(),
            file: self.shown(&identity.kind),
            blake3: identity.blake3,
            held_out_records: None,
            held_out_origin: None,
        }
    }

    /// What it is, with its noise in the frame's units.
    fn shown(&self, kind: &MethodKind) -> String {
        let noise = self.method.noise();
        let present = self.method.pde().present();
        let of = |channel: Channel| {
            let width = self.options.frame.width_of_ours(channel, noise[channel]);
            format!("{} of {}", significant(width, 3), channel.name())
        };
        let noise: Vec<String> =
            Channel::BOTH.into_iter().filter(|channel| present[*channel]).map(of).collect();
        let what = match kind {
            MethodKind::Linear => "the posterior of a linear fit",
            _ => "the exact posterior",
        };
        match self.options.noise {
            Some(_) => format!("{what}, noise {}", noise.join(" and ")),
            None => format!("{what}, no noise stated"),
        }
    }

    /// What readings of a and u are off by for being written with few digits, as root mean squares, where it is noticed.
    fn few_digits(&self, readings: &[Reading]) -> Option<Remark> {
        let least = rounding_noise(&self.method.constants());
        let noise = PerChannel::from_fn(|channel| {
            let of_channel = readings.iter().filter(|reading| reading.channel == channel);
            let squares: f64 = of_channel.clone().map(|reading| reading.rounding.powi(2)).sum();
            let noise = (squares / of_channel.count().max(1) as f64).sqrt();
            Some(noise).filter(|noise| *noise > NOTICED_ROUNDING * least[channel])
        });
        (!noise.is_unknown()).then_some(Remark::FewDigits(noise))
    }

    /// The posterior given a problem's sensors. `progress` hears of its steps, and says whether to go on.
    pub(super) fn estimate(
        &self,
        mut problem: Problem,
        progress: scope_exact::Progress,
    ) -> Result<Estimate, RecoveryError> {
        let method = self.summary();
        let mut numbers: Vec<usize> = (0..problem.sensors.sensors.len()).collect();
        let most = ((MOST_LEFT_OUT * numbers.len() as f64) as usize).max(1);
        let mut left_out: Vec<Numbered> = Vec::new();
        loop {
            let posterior = self.method.given(&self.readings(&problem), progress)?;
            let judged = if self.knows_its_errors(&posterior) {
                posterior.leave_one_out_watched(progress)?
            } else {
                None
            };
            let residuals: Vec<Numbered> =
                judged.iter().flat_map(|judged| self.residuals(&problem, &numbers, judged)).collect();
            let suspects: Vec<Numbered> = residuals.iter().filter(|(_, r)| r.suspect).cloned().collect();
            let droppable = self.options.drop_suspects && left_out.len() + suspects.len() <= most;
            if suspects.is_empty() || !droppable {
                return self.finish(problem, &posterior, judged.map(|j| (j, residuals)), left_out, progress);
            }
            let is_suspect = |number: &usize| suspects.iter().any(|(suspect, _)| suspect == number);
            let gone: Vec<usize> = (0..numbers.len()).filter(|k| is_suspect(&numbers[*k])).collect();
            problem = problem.without(&method, &gone)?;
            numbers.retain(|number| !is_suspect(number));
            left_out.extend(suspects);
        }
    }

    /// The fields of the posterior given a problem's sensors, without what is to be said of them.
    pub(super) fn fields(
        &self,
        problem: Problem,
        progress: scope_exact::Progress,
    ) -> Result<Fields, RecoveryError> {
        if self.options.drop_suspects {
            // Which readings are left out is known once they are judged.
            return Ok(self.estimate(problem, progress)?.fields);
        }
        let posterior = self.method.given(&self.readings(&problem), progress)?;
        let mut fields = single_precision(posterior.mean()?);
        self.impose_known_facts(&problem.context, [&mut fields], Vec::new());
        Ok(fields)
    }

    /// What is said of the posterior, and its fields.
    fn finish(
        &self,
        problem: Problem,
        posterior: &Posterior,
        judged: Option<(LeaveOneOut, Vec<Numbered>)>,
        left_out: Vec<Numbered>,
        progress: scope_exact::Progress,
    ) -> Result<Estimate, RecoveryError> {
        let Spread { uncertainty, of_draws, deviations } = self.spread(posterior, progress)?;
        let mean = posterior.mean()?;
        let samples = match of_draws {
            Some(times) => self.samples(posterior, &mean, times, progress)?,
            None => Vec::new(),
        };
        let mut remarks = remarks(posterior, problem.context.sensors.len(), deviations.as_ref());
        let few_to_blame = judged.as_ref().is_some_and(|(judged, _)| !judged.rest.contradicts());
        let mut warnings: Vec<Warning> =
            self.contradiction(posterior, &problem, few_to_blame).into_iter().collect();
        if let Some(percent) = self.options.frame.unsure_amplitude_percent() {
            warnings.push(Warning::UnsureAmplitude { percent });
        }
        remarks.extend(self.few_digits(&self.readings(&problem)));
        remarks.extend(self.less_noise(posterior, &warnings));
        let residuals = judged.map(|(judged, mut readings)| {
            let dropped = !left_out.is_empty();
            let others_agree = !judged.rest.contradicts();
            if !dropped {
                let all = residuals_in_order(readings.clone(), false);
                warnings.extend(Suspects::of(&all, others_agree).map(Warning::Suspects));
            } else {
                let gone = residuals_in_order(left_out.clone(), true);
                remarks.extend(Suspects::of(&gone, others_agree).map(Remark::SuspectsLeftOut));
            }
            readings.extend(left_out);
            residuals_in_order(readings, dropped)
        });
        let mut estimate = Estimate {
            problem,
            fields: single_precision(mean),
            uncertainty,
            samples,
            residuals,
            warnings,
            remarks,
            compared: posterior.held_out_fields() > 0,
        };
        let fields = [&mut estimate.fields].into_iter().chain(&mut estimate.samples);
        let widths = match &mut estimate.uncertainty {
            Uncertainty::Measured { deviation, bands } => {
                [deviation].into_iter().chain(&mut bands.half_widths).collect()
            }
            _ => Vec::new(),
        };
        self.impose_known_facts(&estimate.problem.context, fields, widths);
        if !self.is_exact() {
            estimate.uncertainty = estimate.uncertainty.unless_denied(&estimate.warnings);
        }
        Ok(estimate)
    }

    /// Whether it is the problem's own, and no estimate from records.
    fn is_exact(&self) -> bool {
        self.method.identity().kind == MethodKind::Exact
    }

    /// Whether what a posterior says of readings and of its errors is true: it is exact, or held-out records say how
    /// far it is from that.
    fn knows_its_errors(&self, posterior: &Posterior) -> bool {
        self.is_exact() || posterior.held_out_fields() > 0
    }

    /// How far the mean may be off.
    fn spread(
        &self,
        posterior: &Posterior,
        progress: scope_exact::Progress,
    ) -> Result<Spread, PosteriorError> {
        let PosteriorOptions { deviations, seed, samples, .. } = self.options;
        if self.is_exact() {
            Spread::exact(posterior, deviations, seed, progress)
        } else {
            Spread::measured(posterior, deviations || samples > 0, seed, progress)
        }
    }

    /// Draws, at their distance from the mean times a factor.
    fn samples(
        &self,
        posterior: &Posterior,
        mean: &scope_data::Fields<f64>,
        times: PerChannel<f64>,
        progress: scope_exact::Progress,
    ) -> Result<Vec<Fields>, PosteriorError> {
        let drawn = posterior.samples_watched(self.options.seed, self.options.samples, progress)?;
        let scaled = |mut sample: scope_data::Fields<f64>| {
            for channel in Channel::BOTH.into_iter().filter(|channel| times[*channel] != 1.0) {
                let both = sample[channel].iter_mut().zip(&mean[channel]);
                both.for_each(|(x, mean)| *x = mean + times[channel] * (*x - mean));
            }
            single_precision(sample)
        };
        Ok(drawn.into_iter().map(scaled).collect())
    }

    /// Imposes what is known of the fields on those of a linear fit: a Gaussian has values below any minimum. The exact
    /// posterior obeys its problem by itself.
    fn impose_known_facts<'a>(
        &self,
        context: &UserContext,
        fields: impl IntoIterator<Item = &'a mut Fields>,
        widths: Vec<&mut Fields>,
    ) {
        if self.is_exact() {
            return;
        }
        let pde = self.method.pde();
        fields.into_iter().for_each(|fields| impose_known_facts(pde, context, fields));
        widths.into_iter().for_each(|widths| impose_certainty(pde, context, widths));
    }

    /// What sensors say, and then what is known inside a region of the record itself: where it lies says something of
    /// the fields around it. A region that all records have says nothing that a fit does not know.
    fn readings(&self, problem: &Problem) -> Vec<Reading> {
        let Problem { context, rounding, .. } = problem;
        let mut readings = readings_of(context);
        if self.options.noise.is_none() {
            let own = readings.iter_mut().zip(&context.sensors);
            own.for_each(|(reading, sensor)| reading.rounding = rounding[sensor.number]);
        }
        let pde = self.method.pde();
        if pde.has_record_regions() {
            let values = pde.descriptor().known_region.values();
            for channel in Channel::BOTH.into_iter().filter(|channel| pde.present()[*channel]) {
                let known = context.masks.given.without(&context.measured[channel]);
                readings.extend(known.points().map(|point| {
                    let [i, j] = context.masks.shape().place(point);
                    Reading::known(channel, Spot::pixel(i, j), values[channel])
                }));
            }
        }
        readings
    }

    /// Each reading beside what the others say of it; numbers are those of the problem as it was given.
    fn residuals(&self, problem: &Problem, numbers: &[usize], judged: &LeaveOneOut) -> Vec<Numbered> {
        let of = |(sensor, prediction): (&Placed, &scope_exact::Prediction)| {
            let [x, y] = sensor.spot.point(self.method.pde(), self.method.resolution());
            let residual = Residual {
                label: problem.sensors.label(sensor.number),
                channel: sensor.channel.name(),
                x,
                y,
                value: sensor.value,
                expected: prediction.expected,
                score: prediction.score(sensor.value),
                suspect: prediction.suspect,
            };
            (numbers[sensor.number], residual)
        };
        problem.context.sensors.iter().zip(&judged.predictions).map(of).collect()
    }

    /// Whether the measurements contradict the model, and with which noise they would not.
    fn contradiction(&self, posterior: &Posterior, problem: &Problem, few_to_blame: bool) -> Option<Warning> {
        // Fields of a fit are not Gaussian: easy ones are calm.
        let widely =
            |check: &ModelCheck, factor: f64| ModelCheck { statistic: check.statistic * factor, ..*check };
        // An amplitude that was estimated may be off by so much.
        let unsure = (1.0 + AMPLITUDE_SIGMAS * self.options.frame.amplitude_deviation()).powi(2);
        let fails = |check: &ModelCheck| {
            widely(check, 1.0 / unsure).contradicts()
                || (self.is_exact() && widely(check, unsure).is_too_calm())
        };
        let known = posterior.model_check().filter(|_| self.knows_its_errors(posterior));
        let Some(check) = known.filter(fails) else { return self.at_some_scales(problem) };
        // A noise larger than the field itself explains nothing, and one that was not stated cannot have been too
        // large.
        let can_be = check.contradicts() || self.options.noise.is_some();
        let noise = self.consistent_noise(posterior, |share| can_be && (LEAST_NOISE..1.0).contains(&share));
        let few_to_blame = few_to_blame && check.contradicts();
        let ModelCheck { statistic, degrees: readings, usual } = check;
        let usual = usual.map(|ratios| ratios.map(|ratio| ratio * readings as f64));
        let at_some_scales = false;
        let contradiction = Contradiction { statistic, readings, usual, noise, few_to_blame, at_some_scales };
        Some(Warning::Contradiction(contradiction))
    }

    /// Whether readings contradict the exact model at some scales, where their amplitude was chosen so that on the
    /// whole they do not.
    fn at_some_scales(&self, problem: &Problem) -> Option<Warning> {
        if !self.is_exact() || !self.options.frame.amplitude_is_estimated() {
            return None;
        }
        let readings = self.readings(problem);
        let deviations = self.method.constants().map(|scaling| scaling.sigma);
        // What cannot be planned for is not judged; why it cannot was said when it was placed.
        let plan = Innovations::plan(self.method.prior(), &readings, self.method.noise(), deviations).ok()?;
        let ModelCheck { statistic, degrees: readings, .. } = plan.least_alike(&readings)?;
        let noise = PerChannel::both(None);
        let contradiction = Contradiction {
            statistic,
            readings,
            usual: None,
            noise,
            few_to_blame: false,
            at_some_scales: true,
        };
        Some(Warning::Contradiction(contradiction))
    }

    /// Whether a noise was stated that is larger than the readings', where that is no contradiction.
    fn less_noise(&self, posterior: &Posterior, warnings: &[Warning]) -> Option<Remark> {
        self.options.noise.filter(|_| warnings.is_empty())?;
        posterior.model_check().filter(|check| self.knows_its_errors(posterior) && check.is_too_calm())?;
        // Where only next to none would do, it is the field that is calm, and the noise may be as stated.
        let noise = self.consistent_noise(posterior, |share| share >= LEAST_NOISE);
        (!noise.is_unknown()).then_some(Remark::LessNoise(noise))
    }

    /// The noise with which the measurements would agree with the model, of the channels that are measured.
    fn consistent_noise(
        &self,
        posterior: &Posterior,
        makes_sense: impl Fn(f64) -> bool,
    ) -> PerChannel<Option<f64>> {
        let deviations = self.method.constants().map(|scaling| scaling.sigma);
        let share = posterior.consistent_noise(deviations).filter(|share| makes_sense(*share));
        PerChannel::from_fn(|channel| {
            share.filter(|_| posterior.measures(channel)).map(|share| share * deviations[channel])
        })
    }
}

/// What sensors say, in our units.
pub(super) fn readings_of(context: &UserContext) -> Vec<Reading> {
    let reading = |sensor: &Placed| Reading::new(sensor.channel, sensor.spot, sensor.value);
    context.sensors.iter().map(reading).collect()
}

fn residuals_in_order(mut readings: Vec<Numbered>, left_out: bool) -> Residuals {
    readings.sort_by_key(|(number, _)| *number);
    Residuals { readings: readings.into_iter().map(|(_, residual)| residual).collect(), left_out }
}
