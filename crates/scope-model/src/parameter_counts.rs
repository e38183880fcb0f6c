//! How many parameters networks and their parts have, with the counts of the paper's table "Parameter accounting".

use scope_engine::{Layout, Param};

use crate::{
    architecture::Architecture,
    config::{Head, ModelConfig},
    error::ModelError,
    network::{Decoder, Network},
};

/// The number of parameters of one part of a network, or of several together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterCount {
    /// The name of the part.
    pub name: String,
    /// How many it has.
    pub parameters: usize,
}

/// The parameters of any model by their first names, in order: `fc1`, `layers`, ...
pub fn parameter_counts(architecture: &Architecture) -> Result<Vec<ParameterCount>, ModelError> {
    let mut layout = Layout::new();
    architecture.declare(&mut layout)?;
    let mut parts: Vec<ParameterCount> = Vec::new();
    for param in layout.params().iter().filter(|param| param.trained) {
        let name = param.name.split('.').next().unwrap_or_default();
        match parts.iter_mut().find(|part| part.name == name) {
            Some(part) => part.parameters += param.range.len(),
            None => parts.push(ParameterCount { name: name.to_owned(), parameters: param.range.len() }),
        }
    }
    Ok(parts)
}

/// How many elements the parameters of a network are when a complex one counts once; [`parameter_counts`] counts real
/// numbers.
pub fn parameter_elements(architecture: &Architecture) -> Result<usize, ModelError> {
    let layout = architecture.layout()?;
    let trained = layout.params().iter().filter(|param| param.trained);
    let of = |param: &Param| param.range.len() >> usize::from(param.name.ends_with("spectral.weight"));
    Ok(trained.map(of).sum())
}

/// The parameters of a SCOPE model, part by part, and the totals that the paper's table states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounting {
    /// The online encoder; the teacher has as many.
    pub encoder: usize,
    /// The predictor.
    pub predictor: usize,
    /// The conditioner.
    pub conditioner: usize,
    /// The native decoder.
    pub decoder: usize,
    /// A replacement head, if one was asked for.
    pub head: Option<(Head, usize)>,
}

impl Accounting {
    /// Counts a model, with a replacement head or without.
    pub fn of(config: &ModelConfig, head: Option<Head>) -> Result<Self, ModelError> {
        config.validate()?;
        let mut layout = Layout::new();
        Network::declare(&mut layout, config);
        let count_head = |head: Head| {
            let mut layout = Layout::new();
            Decoder::declare(layout.root().scope("decoder"), config, &head.config());
            (head, layout.count(""))
        };
        Ok(Self {
            encoder: layout.count("encoder"),
            predictor: layout.count("predictor"),
            conditioner: layout.count("cond"),
            decoder: layout.count("decoder"),
            head: head.map(count_head),
        })
    }

    /// What a replacement head is put on: everything but the decoder.
    pub fn backbone(&self) -> usize {
        self.encoder + self.predictor + self.conditioner
    }

    /// What is trained, and deployed with the native decoder.
    pub fn online(&self) -> usize {
        self.backbone() + self.decoder
    }

    /// What a frozen state with its unused teacher holds, without any decoder.
    pub fn stored_state(&self) -> usize {
        self.backbone() + self.encoder
    }

    /// The lines of the paper's table, in its order.
    pub fn components(&self) -> Vec<ParameterCount> {
        let line = |name: &str, parameters| ParameterCount { name: name.to_owned(), parameters };
        let mut lines = vec![
            line("online encoder", self.encoder),
            line("predictor", self.predictor),
            line("mask conditioner", self.conditioner),
            line("native decoder", self.decoder),
            line("native online model", self.online()),
            line("EMA teacher, training only", self.encoder),
            line("frozen inference backbone", self.backbone()),
        ];
        if let Some((head, parameters)) = self.head {
            lines.push(line(&format!("{} head", head.name()), parameters));
            lines.push(line(&format!("{} deployment total", head.name()), self.backbone() + parameters));
        }
        lines.push(line("stored state without decoder", self.stored_state()));
        lines
    }
}
