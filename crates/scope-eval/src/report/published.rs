//! What the paper reports.

use std::collections::BTreeMap;

use scope_pde::Pde;
use serde::Deserialize;

use crate::error::EvalError;

/// The paper's figures, in percent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Methods of the main table other than SCOPE.
    pub compared: Vec<Compared>,
    /// SCOPE's recipes and heads, both channels.
    pub channels: Vec<Channels>,
    /// The auxiliary operators' per-record figures.
    pub auxiliary: Vec<Channels>,
    /// Heads under the cylinder's own condition.
    pub benchmark: Vec<Channels>,
    /// Paired differences.
    pub paired: Vec<PairedRow>,
}

/// A row of the main table.
#[derive(Clone, Debug, Deserialize)]
pub struct Compared {
    /// The method.
    pub method: String,
    /// Which part of the table it is in.
    pub group: Group,
    /// Where the figures come from.
    pub source: String,
    /// Errors by problem.
    #[serde(flatten)]
    pub errors: BTreeMap<Pde, Errors>,
}

/// The parts of the main table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Other papers' figures under their own protocols.
    LiteratureDeterministic,
    /// The paper's own operators, under SCOPE's protocol.
    Operators,
    /// Other papers' figures under their own protocols.
    LiteratureGenerative,
}

/// Errors at uniform/500.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// The error of u from a.
    pub forward: Option<f64>,
    /// The error of a from u.
    pub inverse: Option<f64>,
}

/// The errors of both channels by one method.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// The problem; none of the cylinder's own condition.
    pub pde: Option<Pde>,
    /// The recipe or the head.
    pub method: String,
    /// The error of a from a.
    pub forward_a: Option<f64>,
    /// The error of u from a.
    pub forward_u: Option<f64>,
    /// Its standard deviation over records.
    pub forward_u_sd: Option<f64>,
    /// The error of a from u; Darcy's is a bit error rate.
    pub inverse_a: Option<f64>,
    /// Its standard deviation over records.
    pub inverse_a_sd: Option<f64>,
    /// The error of u from u.
    pub inverse_u: Option<f64>,
    /// Darcy's relative error of a from u.
    pub inverse_a_l2: Option<f64>,
}

/// A paired difference.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairedRow {
    /// Negative differences favour this one.
    pub first: String,
    /// The method that it is compared with.
    pub second: String,
    /// Which error of which task.
    pub endpoint: String,
    /// The problem.
    pub pde: Pde,
    /// The number of records.
    pub count: usize,
    /// The mean difference in percentage points.
    pub difference: f64,
    /// The standard deviation of the differences.
    pub sd: f64,
    /// The mean over its standard error.
    pub t: f64,
    /// The share of records where the first is better, in percent.
    pub improved: f64,
}

impl Published {
    /// Reads the figures that come with the program.
    pub fn read() -> Result<Self, EvalError> {
        let text = include_str!("published.toml");
        toml::from_str(text).map_err(|error| EvalError::Mismatch(format!("the published figures: {error}")))
    }

    /// SCOPE's row for a problem.
    pub(super) fn of(&self, pde: Pde, method: &str) -> Option<&Channels> {
        self.channels.iter().find(|row| row.pde == Some(pde) && row.method == method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_hold_together() {
        let published = Published::read().unwrap();
        assert_eq!(
            (published.compared.len(), published.channels.len(), published.paired.len()),
            (15, 45, 40)
        );
        // Paired means are differences of the means they come from, up to their rounding.
        for row in published.paired.iter().filter(|row| row.endpoint == "forward u") {
            let mean = |method: &str| published.of(row.pde, method).and_then(|row| row.forward_u).unwrap();
            let difference = mean(&row.first) - mean(&row.second);
            assert!((difference - row.difference).abs() < 2e-4, "{row:?}: {difference}");
        }
        for row in &published.paired {
            let t = row.difference / (row.sd / (row.count as f64).sqrt());
            // Four decimals of a small mean leave a share of it open.
            let slack = 0.06 + t.abs() * (6e-5 / row.difference.abs() + 6e-5 / row.sd);
            assert!((t - row.t).abs() < slack, "{row:?}: {t}");
        }
    }

    #[test]
    fn full_beats_fjv_everywhere_and_sp_beats_full_as_the_paper_says() {
        let published = Published::read().unwrap();
        for pde in Pde::ALL {
            let row = |method: &str| published.of(pde, method).unwrap();
            for (better, worse) in [("Full", "FJV"), ("SP-10M", "Full"), ("SP-5M", "DP-5M")] {
                assert!(row(better).forward_u < row(worse).forward_u, "{pde} {better} {worse}");
                assert!(row(better).inverse_a < row(worse).inverse_a, "{pde} {better} {worse}");
            }
        }
    }
}
