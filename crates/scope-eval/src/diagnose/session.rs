//! What has been seen of the records so far. Records are added one after the other, in their order, whatever batches
//! they came in.

use scope_data::{Channel, Meta, Pair, Scaling};
use scope_engine::Tensor;
use scope_model::Model;

use super::{
    ChannelDiagnosis, DiagnoseError, Diagnosis, Subject,
    inequality::{of_decoder, of_replacement},
    lipschitz::{DecoderAlone, Lipschitz, PROBES, Probe},
    readout::{CohortSums, Decoded, Errors, LatentGaps, Readout, physical_norm},
    recovery::RecoverySums,
    spread::SpreadSums,
    views::{Latents, decode, distance},
};

/// Sums over the records so far.
pub(super) struct Session<'a> {
    subject: &'a Subject<'a>,
    meta: &'a Meta,
    /// The model's decoder, and the base's.
    decoders: Vec<DecoderSums<'a>>,
    cohorts: [CohortSums; 2],
    complete: SpreadSums,
    predicted: SpreadSums,
    recovery: Option<RecoverySums>,
    probes: Vec<Probe>,
    /// z_M and z_F of the record before.
    before: Option<[Vec<f32>; 2]>,
}

/// What one decoder gave so far.
struct DecoderSums<'a> {
    model: &'a Model,
    errors: [Errors; 2],
    steepest: [f64; 2],
    /// d(z_M) and d(z_F) of the record before, \[2, S, S\] each.
    before: Option<[Vec<f32>; 2]>,
}

impl<'a> Session<'a> {
    pub(super) fn new(subject: &'a Subject<'a>, meta: &'a Meta) -> Self {
        let width = subject.model.config.latent;
        let decoders = [Some(subject.model), subject.base].into_iter().flatten();
        let empty =
            |model| DecoderSums { model, errors: Default::default(), steepest: [0.0; 2], before: None };
        Self {
            subject,
            meta,
            decoders: decoders.map(empty).collect(),
            cohorts: Default::default(),
            complete: SpreadSums::new(width),
            predicted: SpreadSums::new(width),
            recovery: subject.teacher.map(|_| RecoverySums::new(width)),
            probes: Vec::new(),
            before: None,
        }
    }

    /// Adds a batch of records, one after the other, from number `first` on.
    pub(super) fn add(
        &mut self,
        first: usize,
        pairs: &[Pair],
        latents: &Latents,
    ) -> Result<(), DiagnoseError> {
        let each = self.subject.model.config.tokens() * self.subject.model.config.latent;
        let numbers = |tensor: &Tensor| tensor.to_vec::<f32>();
        let fields: Vec<[Vec<f32>; 2]> = self
            .decoders
            .iter()
            .map(|sums| Ok([decode(sums.model, &latents.predicted)?, decode(sums.model, &latents.complete)?]))
            .collect::<Result<_, DiagnoseError>>()?;
        let predicted = numbers(&latents.predicted)?;
        let complete = numbers(&latents.complete)?;
        let target = latents.target.as_ref().map(numbers).transpose()?;
        for (k, pair) in pairs.iter().enumerate() {
            let record = first + k;
            let [z_m, z_f] = [&predicted, &complete].map(|z| &z[k * each..][..each]);
            let target = target.as_ref().map(|z| &z[k * each..][..each]);
            let both = pair.values().len();
            let decoded = fields.iter().map(|[m, f]| [m, f].map(|fields| &fields[k * both..][..both]));
            let decoded: Vec<[&[f32]; 2]> = decoded.collect();
            let mut all = [z_m, z_f].into_iter().chain(target).chain(decoded.iter().flatten().copied());
            if !all.all(|values| values.iter().all(|x| x.is_finite())) {
                return Err(DiagnoseError::Overflow(record));
            }
            self.add_record(record, pair, [z_m, z_f], target, &decoded);
        }
        Ok(())
    }

    fn add_record(
        &mut self,
        record: usize,
        pair: &Pair,
        z: [&[f32]; 2],
        target: Option<&[f32]>,
        decoded: &[[&[f32]; 2]],
    ) {
        let [z_m, z_f] = z;
        self.predicted.add(z_m);
        self.complete.add(z_f);
        if let (Some(recovery), Some(target)) = (&mut self.recovery, target) {
            recovery.add(z_m, target);
        }
        if self.probes.len() < PROBES {
            self.probes.push(Probe { at: z_m.to_vec(), towards: z_f.to_vec() });
        }
        let gaps = LatentGaps::of(z_m, z_f, target);
        let norms = Channel::BOTH.map(|channel| self.norm(record, pair, channel));
        for (cohort, norm) in self.cohorts.iter_mut().zip(norms) {
            if let Some(norm) = norm {
                cohort.add(norm, gaps);
            }
        }
        for (sums, fields) in self.decoders.iter_mut().zip(decoded) {
            sums.add(self.meta, pair, *fields, norms);
            sums.climb(z, *fields, self.before.as_ref());
            sums.before = Some(fields.map(<[f32]>::to_vec));
        }
        self.before = Some(z.map(<[f32]>::to_vec));
    }

    /// The physical norm of a record's field; none for a zero target.
    fn norm(&self, record: usize, pair: &Pair, channel: Channel) -> Option<f64> {
        let meta = self.meta.channel(channel);
        let zero = meta.zero_records.contains(&record);
        (!zero).then(|| physical_norm(pair.field(channel), meta.scaling()))
    }

    pub(super) fn finish(self, records: usize) -> Result<Diagnosis, DiagnoseError> {
        let config = &self.subject.model.config;
        let constants = self.meta.constants();
        let mut readouts = Vec::new();
        for sums in &self.decoders {
            readouts.push(sums.finish(&self.probes, Channel::BOTH.map(|channel| constants[channel]))?);
        }
        let channels = Channel::BOTH.iter().enumerate().map(|(k, channel)| {
            let decoder = readouts[0][k].clone();
            let base = readouts.get(1).map(|both| both[k].clone());
            let cohort = self.cohorts[k].finish();
            let mut inequalities = cohort.map_or_else(Vec::new, |c| of_decoder(&decoder, &c));
            inequalities.extend(base.as_ref().and_then(|base| of_replacement(base, &decoder)));
            (channel.name(), ChannelDiagnosis { decoder, base, cohort, inequalities })
        });
        Ok(Diagnosis {
            records,
            tokens: config.tokens(),
            width: config.latent,
            channels: channels.collect(),
            complete: self.complete.finish(),
            predicted: self.predicted.finish(),
            recovery: self.recovery.and_then(|sums| sums.finish()),
        })
    }
}

impl DecoderSums<'_> {
    /// Adds the errors of a record's fields, decoded from z_M and z_F.
    fn add(&mut self, meta: &Meta, pair: &Pair, fields: [&[f32]; 2], norms: [Option<f64>; 2]) {
        for (k, channel) in Channel::BOTH.into_iter().enumerate() {
            let [predicted, complete] = fields.map(|field| half(field, k));
            let decoded = Decoded { predicted, complete, truth: pair.field(channel) };
            self.errors[k].add(&decoded, meta.channel(channel).scaling(), norms[k]);
        }
    }

    /// Looks for steep pairs: the two views of a record, and each view of it and of the record before.
    fn climb(&mut self, z: [&[f32]; 2], fields: [&[f32]; 2], z_before: Option<&[Vec<f32>; 2]>) {
        let mut pairs = vec![(z, fields)];
        if let (Some(z_before), Some(before)) = (z_before, &self.before) {
            pairs.extend(
                (0..2).map(|view| ([z[view], &z_before[view][..]], [fields[view], &before[view][..]])),
            );
        }
        for ([z, other], [field, other_field]) in pairs {
            let apart = distance(z, other) / (z.len() as f64).sqrt();
            for (k, steepest) in self.steepest.iter_mut().enumerate().filter(|_| apart > 0.0) {
                *steepest = steepest.max(distance(half(field, k), half(other_field, k)) / apart);
            }
        }
    }

    fn finish(&self, probes: &[Probe], scalings: [Scaling; 2]) -> Result<[Readout; 2], DiagnoseError> {
        let mut alone = DecoderAlone::of(self.model)?;
        let mut local = [0.0_f64; 2];
        for probe in probes {
            for (k, best) in local.iter_mut().enumerate() {
                *best = best.max(alone.steepest(probe, k, scalings[k])?);
            }
        }
        let lipschitz =
            |k: usize| Lipschitz { records: 2.0 * scalings[k].sigma * self.steepest[k], local: local[k] };
        Ok([0, 1].map(|k| self.errors[k].finish(lipschitz(k))))
    }
}

/// One channel of decoded fields.
fn half(fields: &[f32], channel: usize) -> &[f32] {
    let pixels = fields.len() / 2;
    &fields[channel * pixels..][..pixels]
}
