//! `--method`: what recovers fields without a network.

use std::path::PathBuf;

use clap::Args;
use scope_data::Constants;
use scope_linear::LinearPrior;
use scope_pde::Pde;

use super::{Misuse, pde_names};

/// A method that needs no network.
#[derive(Debug, Args)]
pub(crate) struct MethodArguments {
    /// A method without a network: exact, the exact posterior of poisson, helmholtz or ns (--pde); or linear, the best
    /// linear estimate from any records (--fit)
    #[arg(long, value_parser = ["exact", "linear"])]
    method: Option<String>,
    /// The problem of --method exact
    #[arg(long, required_if_eq("method", "exact"), value_parser = pde_names())]
    pde: Option<Pde>,
    /// The fit of --method linear: a file that `scope fit linear` wrote
    #[arg(long, value_name = "FILE", required_if_eq("method", "linear"))]
    fit: Option<PathBuf>,
}

/// What was chosen.
pub(crate) enum ChosenMethod {
    /// The exact posterior of a problem.
    Exact(Pde),
    /// The posterior of a linear fit.
    Linear(Box<LinearPrior>),
}

impl ChosenMethod {
    /// The problem it is for.
    pub(crate) fn pde(&self) -> Pde {
        match self {
            ChosenMethod::Exact(pde) => *pde,
            ChosenMethod::Linear(prior) => prior.fit().about.source.pde,
        }
    }

    /// How its values are scaled.
    pub(crate) fn constants(&self) -> Constants {
        match self {
            ChosenMethod::Exact(pde) => Constants::generated(*pde),
            ChosenMethod::Linear(prior) => prior.fit().about.source.constants,
        }
    }

    /// What it is called in sentences.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            ChosenMethod::Exact(_) => "the exact posterior",
            ChosenMethod::Linear(_) => "the linear estimate",
        }
    }
}

impl MethodArguments {
    /// What was chosen, if anything was; a fit is read.
    pub(crate) fn open(&self) -> anyhow::Result<Option<ChosenMethod>> {
        match (self.method.as_deref(), self.pde, &self.fit) {
            (None, None, None) => Ok(None),
            (None, ..) => {
                anyhow::bail!(Misuse::of(
                    "--pde and --fit belong to --method: leave them out, or name a method"
                ))
            }
            (Some("exact"), Some(pde), None) => Ok(Some(ChosenMethod::Exact(pde))),
            (Some("linear"), None, Some(fit)) => {
                Ok(Some(ChosenMethod::Linear(Box::new(LinearPrior::open(fit)?))))
            }
            (Some("linear"), Some(_), _) => {
                anyhow::bail!(Misuse::of("a fit knows its problem: leave --pde out"))
            }
            (Some(_), ..) => anyhow::bail!(Misuse::of("--method exact has no fit: leave --fit out")),
        }
    }
}
