//! Under which conditions `scope evaluate` measures: those of a protocol, or some by name.

use std::collections::BTreeSet;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_data::observation::{Condition, Layout};
use scope_eval::Protocol;
use scope_pde::Pde;

/// Letters of a hash that name a set of conditions.
const HASH_LETTERS: usize = 8;

#[derive(Debug, Args)]
pub(super) struct ConditionArguments {
    /// Under which conditions
    #[arg(long, default_value = "uniform500", value_parser = protocol_names())]
    protocol: Protocol,
    /// Under this condition, as in joint/grid/1024; may be given several times
    #[arg(long = "condition", value_name = "C", conflicts_with = "protocol")]
    conditions: Vec<Condition>,
}

fn protocol_names() -> impl TypedValueParser<Value = Protocol> {
    PossibleValuesParser::new(Protocol::ALL.map(Protocol::name)).try_map(|name| name.parse::<Protocol>())
}

impl ConditionArguments {
    /// The conditions for a problem, each once and at least one.
    pub(super) fn of(&self, pde: Pde) -> anyhow::Result<Vec<Condition>> {
        if self.conditions.is_empty() {
            let conditions = self.protocol.conditions(pde);
            let protocol = self.protocol.name();
            let whom = match self.protocol {
                Protocol::Auxiliary => "problems with two fields",
                _ => "the cylinder",
            };
            anyhow::ensure!(!conditions.is_empty(), "{protocol} is for {whom} only: take another --protocol");
            return Ok(conditions);
        }
        let distinct = self.distinct();
        if let Some(study) = distinct.iter().find(|condition| condition.layout() == Layout::Bernoulli) {
            anyhow::bail!("{study} is measured with five masks a record: take --protocol auxiliary");
        }
        if let Some(other) = distinct.iter().find(|condition| !condition.is_of(pde)) {
            anyhow::bail!("{pde} cannot be observed under {other}: take a condition of `--protocol all`");
        }
        Ok(distinct.into_iter().collect())
    }

    /// Whether they are those of the auxiliary operator study.
    pub(super) fn is_auxiliary(&self) -> bool {
        self.conditions.is_empty() && self.protocol == Protocol::Auxiliary
    }

    /// What results under them are called: the protocol's name, the condition's, or for several `conditions-` and
    /// letters that follow from which they are, in any order.
    pub(super) fn name(&self) -> String {
        let names: Vec<String> = self.distinct().iter().map(ToString::to_string).collect();
        match names.as_slice() {
            [] => self.protocol.name().to_owned(),
            [only] => only.replace('/', "-"),
            several => {
                let hash = blake3::hash(several.join(" ").as_bytes()).to_string();
                format!("conditions-{}", &hash[..HASH_LETTERS])
            }
        }
    }

    fn distinct(&self) -> BTreeSet<Condition> {
        self.conditions.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(conditions: &[&str]) -> ConditionArguments {
        let conditions = conditions.iter().map(|name| name.parse().unwrap()).collect();
        ConditionArguments { protocol: Protocol::Uniform500, conditions }
    }

    #[test]
    fn results_are_named_after_what_was_asked_for() {
        assert_eq!(asked(&[]).name(), "uniform500");
        assert_eq!(asked(&["joint/grid/1024"]).name(), "joint-grid-1024");
        let [one, other] =
            [["forward/uniform/20", "joint/grid/1024"], ["joint/grid/1024", "forward/uniform/20"]];
        assert_eq!(asked(&one).name(), asked(&other).name());
        assert_ne!(asked(&one).name(), asked(&["forward/uniform/50", "joint/grid/1024"]).name());
        assert_eq!(asked(&["joint/grid/1024"; 2]).of(Pde::DARCY).unwrap().len(), 1);
    }

    #[test]
    fn what_a_problem_has_not_is_refused() {
        let benchmark = asked(&["forward/benchmark_uniform/100"]);
        assert_eq!(benchmark.of(Pde::CYLINDER).unwrap().len(), 1);
        let refused = benchmark.of(Pde::POISSON).unwrap_err().to_string();
        assert!(
            refused.starts_with("poisson cannot be observed under forward/benchmark_uniform/100"),
            "{refused}"
        );
    }
}
