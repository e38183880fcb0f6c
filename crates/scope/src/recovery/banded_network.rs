//! A trained network as a way from sensors to fields: its pass, what is known of the fields, bands, and faulty sensors.

use std::sync::Arc;

use scope_data::observation::UserContext;
use scope_eval::trust::{Known, Residuals, Suspects, Trust, Warning};
use scope_exact::NO_NOISE;
use scope_model::{Fields, impose_known_facts};

use super::{
    Progress,
    bands::BandSource,
    error::RecoveryError,
    leave_out::{LeftOut, Numbered, is_striking, leave_out},
    likeness::Likeness,
    network::{Imposed, Network, NetworkOptions},
    problem::Problem,
    recovered::{Recovered, Uncertainty},
    remark::Remark,
    require,
    summary::MethodSummary,
    two_valued::TwoValued,
    without_bands::{WithoutBands, WithoutBandsReason},
};

/// No more than this share of the readings is suspected: where more do not fit the others, the others are to be
/// doubted.
const MOST_SUSPECTS: f64 = 0.1;

/// A network with the bands about what it gives.
pub(super) struct BandedNetwork {
    network: Arc<Network>,
    bands: BandSource,
    likeness: Likeness,
    options: NetworkOptions,
    summary: Arc<MethodSummary>,
}

/// Hears on how many fresh records errors have been measured, and says whether to go on.
type Heard<'a> = &'a dyn Fn(usize) -> bool;

impl BandedNetwork {
    pub(super) fn new(network: Arc<Network>, options: NetworkOptions) -> Result<Self, RecoveryError> {
        let bands = BandSource::new(&network, options)?;
        let summary = Arc::new(MethodSummary { frame: options.frame, ..network.summary() });
        Ok(Self { network, bands, likeness: Likeness::default(), options, summary })
    }

    /// What results say of the network.
    pub(super) fn summary(&self) -> Arc<MethodSummary> {
        Arc::clone(&self.summary)
    }

    /// One pass of the network over all problems, and then what is to be said of each. Sensors between pixels are
    /// carried to them; local fits of sensors, if the network sees any, are of where they are. A network that was
    /// trained with noise is told of it.
    pub(super) fn recover_all(
        &self,
        problems: Vec<Problem>,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Vec<Recovered>, RecoveryError> {
        let passed = self.pass(problems)?;
        require(progress(Progress::Fields { problems: passed.len() }))?;
        let mut all = Vec::with_capacity(passed.len());
        for (problem, fields) in passed {
            let heard = |records| progress(Progress::Bands { problems: all.len(), records });
            all.push(self.examined(problem, fields, &heard)?);
        }
        Ok(all)
    }

    /// Recovers one problem; `first` hears of its fields before what is to be said of them is known.
    pub(super) fn recover_fields_first(
        &self,
        problem: Problem,
        first: &dyn Fn(Fields),
    ) -> Result<Recovered, RecoveryError> {
        let (problem, of_network) = self.pass(vec![problem])?.remove(0);
        let mut fields = of_network.clone();
        impose_known_facts(self.summary.pde, &problem.context, &mut fields);
        first(fields);
        self.examined(problem, of_network, &|_| true)
    }

    /// Problems as the network saw them, and what it gave.
    fn pass(&self, problems: Vec<Problem>) -> Result<Vec<(Problem, Fields)>, RecoveryError> {
        let mut contexts = self.contexts(&problems);
        let fields = self.network.model.recover_sensors(&mut contexts)?;
        let seen = problems.into_iter().zip(contexts);
        let seen = seen.map(|(problem, context)| Problem { context, ..problem });
        Ok(seen.zip(fields).collect())
    }

    /// The fields of all problems, without what is to be said of them.
    pub(super) fn fields_of_all(
        &self,
        problems: Vec<Problem>,
        progress: &(dyn Fn(Progress) -> bool + Sync),
    ) -> Result<Vec<Fields>, RecoveryError> {
        if self.options.drop_suspects {
            // Which readings are left out is known once they are examined.
            let all = self.recover_all(problems, progress)?;
            return Ok(all.into_iter().map(|recovered| recovered.fields).collect());
        }
        let fields = Imposed(&self.network.model).of_sensors(&mut self.contexts(&problems))?;
        require(progress(Progress::Fields { problems: fields.len() }))?;
        Ok(fields)
    }

    /// What the network reads of problems.
    fn contexts(&self, problems: &[Problem]) -> Vec<UserContext> {
        let told = self.told();
        problems.iter().map(|problem| problem.context.clone().with_noise(told)).collect()
    }

    /// The noise that the network is told of.
    fn told(&self) -> scope_data::PerChannel<f64> {
        self.network.told(self.options.noise.unwrap_or(NO_NOISE))
    }

    /// What is to be said of a problem, with its faulty sensors if it does not fit or if they are to be left out.
    fn examined(
        &self,
        problem: Problem,
        fields: Fields,
        heard: Heard<'_>,
    ) -> Result<Recovered, RecoveryError> {
        if self.options.drop_suspects {
            return self.without_suspects(problem, fields, heard);
        }
        let recovered = self.weighed(problem, fields, heard)?;
        // Beside hundreds of fresh records a look at each sensor costs little.
        let is_doubtful = self.options.calibration.is_some()
            || !fits(&recovered.trust)
            || is_striking(&self.summary, &recovered.problem, &recovered.fields);
        if is_doubtful { self.with_suspects(recovered) } else { Ok(recovered) }
    }

    /// What the network gave, with what is known of it.
    fn weighed(
        &self,
        problem: Problem,
        of_network: Fields,
        heard: Heard<'_>,
    ) -> Result<Recovered, RecoveryError> {
        let pde = self.summary.pde;
        let context = &problem.context;
        let mut fields = of_network.clone();
        impose_known_facts(pde, context, &mut fields);
        let measures = self.bands.measure(&self.network, context, heard)?;
        let calibrated = measures.as_ref().map(|measures| &measures.calibrated);
        let known = Known { noise: self.options.noise, calibrated, ..self.network.known() };
        let trust = Trust::of(pde, &self.summary.constants, known, context, &fields);
        let mut trust = trust.ok_or(RecoveryError::NothingMeasured)?;
        // What is known to be wrong already needs no second reason.
        if !trust.denies_errors() {
            let unlike = self.likeness.warning(&self.summary, context, self.options.noise);
            unlike.into_iter().for_each(|warning| trust.warn(warning));
        }
        if let Some(percent) = self.options.frame.unsure_amplitude_percent() {
            trust.warn(Warning::UnsureAmplitude { percent });
        }
        trust.exact = trust.exact_limit(pde);
        let bands =
            self.bands.about(&self.network, context, (&of_network, &fields), &trust, measures.as_deref());
        let uncertainty = match bands {
            Ok(bands) => Uncertainty::Bands(Box::new(bands)),
            Err(reason) => Uncertainty::Unknown(reason),
        };
        Ok(Recovered {
            method: self.summary(),
            problem,
            two_valued: TwoValued::of(pde, &fields.a),
            fields,
            unprojected: self.options.unprojected.then_some(of_network),
            uncertainty,
            residuals: None,
            samples: Vec::new(),
            trust,
            remarks: Vec::new(),
        })
    }

    /// A problem recovered without the readings that do not fit the others.
    fn without_suspects(
        &self,
        problem: Problem,
        fields: Fields,
        heard: Heard<'_>,
    ) -> Result<Recovered, RecoveryError> {
        let Some(LeftOut { readings, .. }) = leave_out(&self.network, &self.summary, &problem)? else {
            return self.weighed(problem, fields, heard);
        };
        let suspects = suspects_of(&readings);
        let mut residuals = in_order(readings, !suspects.is_empty());
        if suspects.is_empty() {
            residuals.readings.iter_mut().for_each(|reading| reading.suspect = false);
            let recovered = self.weighed(problem, fields, heard)?;
            return Ok(Recovered { residuals: Some(residuals), ..recovered });
        }
        let (rest, fields) = self.recovered_without(&problem, &suspects)?;
        let mut recovered = self.weighed(rest, fields, heard)?;
        let others_agree = fits(&recovered.trust);
        recovered.remarks.extend(Suspects::of(&residuals, others_agree).map(Remark::SuspectsLeftOut));
        Ok(Recovered { residuals: Some(residuals), ..recovered })
    }

    /// A recovery that does not fit its readings, with those that are to blame.
    fn with_suspects(&self, mut recovered: Recovered) -> Result<Recovered, RecoveryError> {
        let Some(LeftOut { readings, flipped }) =
            leave_out(&self.network, &self.summary, &recovered.problem)?
        else {
            return Ok(recovered);
        };
        let suspects = suspects_of(&readings);
        let mut residuals = in_order(readings, false);
        if let Some(flipped) = flipped {
            deny(&mut recovered, flipped);
        }
        if suspects.is_empty() {
            residuals.readings.iter_mut().for_each(|reading| reading.suspect = false);
            return Ok(Recovered { residuals: Some(residuals), ..recovered });
        }
        let (rest, mut fields) = self.recovered_without(&recovered.problem, &suspects)?;
        impose_known_facts(self.summary.pde, &rest.context, &mut fields);
        let known = Known { noise: self.options.noise, ..self.network.known() };
        let of_rest = Trust::of(self.summary.pde, &self.summary.constants, known, &rest.context, &fields);
        let unlike = self.likeness.warning(&self.summary, &rest.context, self.options.noise);
        let others_agree = of_rest.is_some_and(|trust| fits(&trust)) && unlike.is_none();
        if let Some(suspects) = Suspects::of(&residuals, others_agree).map(Warning::Suspects) {
            // A few faulty sensors are no sign of another problem.
            let is_their_doing =
                |warning: &Warning| matches!(warning, Warning::PoorFit { .. } | Warning::Unlike { .. });
            recovered.trust.warnings.retain(|warning| !(others_agree && is_their_doing(warning)));
            deny(&mut recovered, suspects);
        }
        Ok(Recovered { residuals: Some(residuals), ..recovered })
    }

    /// A problem without some of its readings, and what the network gives of it.
    fn recovered_without(
        &self,
        problem: &Problem,
        gone: &[usize],
    ) -> Result<(Problem, Fields), RecoveryError> {
        let rest = problem.without(&self.summary, gone)?;
        let mut context = [rest.context.with_noise(self.told())];
        let mut fields = self.network.model.recover_sensors(&mut context)?;
        let [context] = context;
        Ok((
            Problem { name: rest.name, sensors: rest.sensors, context, rounding: rest.rounding },
            fields.remove(0),
        ))
    }
}

/// Takes back all errors and bands for what speaks against them.
fn deny(recovered: &mut Recovered, warning: Warning) {
    recovered.trust.warn_first(warning.clone());
    let reason = WithoutBandsReason::Unlike(warning);
    recovered.uncertainty = Uncertainty::Unknown(WithoutBands { reason, can_be_measured: false });
}

/// Whether a recovery fits its readings.
fn fits(trust: &Trust) -> bool {
    !trust.warnings.iter().any(|warning| matches!(warning, Warning::PoorFit { .. }))
}

/// The numbers of suspects; none if they are too many to be the faulty ones.
fn suspects_of(readings: &[Numbered]) -> Vec<usize> {
    let suspects: Vec<usize> =
        readings.iter().filter(|(_, reading)| reading.suspect).map(|(number, _)| *number).collect();
    let most = ((MOST_SUSPECTS * readings.len() as f64) as usize).max(1);
    if suspects.len() > most { Vec::new() } else { suspects }
}

fn in_order(readings: Vec<Numbered>, left_out: bool) -> Residuals {
    Residuals { readings: readings.into_iter().map(|(_, reading)| reading).collect(), left_out }
}
