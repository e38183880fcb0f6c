//! Local fits of the sensors as a setting of a recipe.

use scope_data::{Constants, PerChannel, Scaling};
use scope_model::{Architecture, FitConfig, ModelConfig};
use scope_pde::Pde;
use serde::{Deserialize, Serialize};

use super::Recipe;
use crate::error::TrainError;

/// Local fits of the sensors, as inputs of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitRecipe {
    /// The standard deviations of the weights, in pixels.
    pub scales: Vec<f64>,
    /// The degree of the polynomials: two or four.
    pub degree: usize,
    /// Pixels from one point of the fits to the next.
    pub stride: usize,
    /// The ridge of value and slopes, and that of all higher coefficients.
    pub ridge: [f64; 2],
    /// How far coefficients are drawn to zero, as a share of what the sizes of these and of the fits' residuals over
    /// the training records call for; with 0 the ridge is all there is.
    #[serde(default)]
    pub shrinkage: f64,
    /// Whether training that goes on from weights gives them this recipe's scales and ridge, and measures what these
    /// need anew; otherwise weights keep their fits.
    #[serde(default)]
    pub renew: bool,
    /// Whether what the problem's boundary condition says of a field's edge counts as measured.
    #[serde(default)]
    pub edges: bool,
}

impl Recipe {
    /// A network as this recipe trains it on a problem with some normalisation: with the recipe's local fits, if it has
    /// any.
    pub fn network(
        &self,
        model: Architecture,
        pde: Pde,
        constants: &Constants,
    ) -> Result<Architecture, TrainError> {
        match (model, &self.fits) {
            (model, None) => Ok(model),
            (Architecture::Scope(sizes), Some(recipe)) => {
                let fits = recipe.config(pde, constants)?;
                let sizes = ModelConfig { fits: Some(fits), ..sizes };
                sizes.validate().map_err(|error| TrainError::Recipe(error.to_string()))?;
                Ok(sizes.into())
            }
            (other, Some(_)) => Err(TrainError::Recipe(format!(
                "the recipe \"{}\" gives local fits to a SCOPE network, and {} takes none",
                self.name,
                other.name()
            ))),
        }
    }
}

impl Recipe {
    /// A trained network as this recipe goes on with it, on a problem with some normalisation that need not be its own:
    /// it keeps its sizes and, unless the recipe renews them, its fits; what these know of axes and edges is the
    /// problem's.
    pub fn trained_network(
        &self,
        model: Architecture,
        pde: Pde,
        constants: &Constants,
    ) -> Result<Architecture, TrainError> {
        let Architecture::Scope(mut sizes) = model else { return Ok(model) };
        if let Some(recipe) = self.fits.as_ref().filter(|recipe| recipe.renew) {
            let renewed = recipe.config(pde, constants)?;
            let shape = |fits: &FitConfig| (fits.scales.len(), fits.degree, fits.stride);
            if sizes.fits.as_ref().map(shape) != Some(shape(&renewed)) {
                return Err(TrainError::Recipe(format!(
                    "the recipe \"{}\" renews local fits, and the weights have none of as many scales, the same degree \
                     and stride",
                    self.name
                )));
            }
            sizes.fits = Some(renewed);
        } else if let Some(fits) = &mut sizes.fits {
            let wants_edges = self.fits.as_ref().is_none_or(|recipe| recipe.edges);
            fits.periodic = pde.periodic();
            fits.edges = if wants_edges { known_edges(pde, constants) } else { PerChannel::default() };
        }
        Ok(Architecture::Scope(sizes))
    }
}

impl FitRecipe {
    /// Those of the recipe `muon-fits`.
    pub(super) fn usual() -> Result<Self, TrainError> {
        let recipe = Recipe::resolve("muon-fits", &[])?;
        recipe.fits.ok_or_else(|| TrainError::Recipe("the recipe \"muon-fits\" has no local fits".to_owned()))
    }

    /// The fits of a network, before anything is measured.
    fn config(&self, pde: Pde, constants: &Constants) -> Result<FitConfig, TrainError> {
        let Self { scales, degree, stride, ridge, shrinkage, edges, renew: _ } = self.clone();
        if !(0.0..=1e3).contains(&shrinkage) {
            return Err(TrainError::Recipe(format!("a shrinkage is 0 to 1000, not {shrinkage}")));
        }
        let edges = if edges { known_edges(pde, constants) } else { PerChannel::default() };
        Ok(FitConfig { scales, degree, stride, ridge: ridge.to_vec(), periodic: pde.periodic(), edges })
    }
}

/// What a problem's boundary condition says of its edges, in stored coordinates.
fn known_edges(pde: Pde, constants: &Constants) -> PerChannel<Option<f64>> {
    let stored = |(edge, scaling): (Option<f64>, Scaling)| edge.map(|value| f64::from(scaling.store(value)));
    pde.edges().zip(*constants).map(stored)
}

#[cfg(test)]
mod tests {
    use scope_model::{Operator, Preset};

    use super::*;

    #[test]
    fn a_network_gets_the_fits_of_its_recipe_as_its_problem_wants_them() {
        let recipe = Recipe::resolve("muon-fits", &["fits.scales=[2.0, 5.0]".to_owned()]).unwrap();
        let network =
            |pde| recipe.network(Preset::Tiny.config(32).into(), pde, &Constants::released(pde)).unwrap();
        let fits = |pde| network(pde).scope().unwrap().fits.clone().unwrap();
        let expected = FitConfig {
            scales: vec![2.0, 5.0],
            degree: 4,
            stride: 4,
            ridge: vec![1e-6, 1e-8],
            periodic: [false; 2],
            edges: PerChannel::default(),
        };
        assert_eq!(fits(Pde::DARCY), expected);
        assert_eq!(fits(Pde::NAVIER_STOKES), FitConfig { periodic: [true; 2], ..expected.clone() });
        let zero = f64::from(Constants::released(Pde::POISSON).u.stored_zero());
        let edges = PerChannel { a: None, u: Some(zero) };
        assert_eq!(fits(Pde::POISSON), FitConfig { edges, ..expected });
        let plain: Architecture = Preset::Tiny.config(32).into();
        assert_eq!(
            Recipe::resolve("muon", &[])
                .unwrap()
                .network(plain.clone(), Pde::DARCY, &Constants::released(Pde::DARCY))
                .unwrap(),
            plain
        );
    }

    #[test]
    fn fits_that_cannot_be_computed_and_networks_that_take_none_are_refused() {
        let refused = |settings: &[&str], model: Architecture| {
            let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
            let recipe = Recipe::resolve("muon-fits", &settings).unwrap();
            recipe.network(model, Pde::POISSON, &Constants::released(Pde::POISSON)).unwrap_err().to_string()
        };
        let tiny = || Architecture::from(Preset::Tiny.config(32));
        assert!(refused(&["fits.scales=[]"], tiny()).contains("scales are of 0.1 to 10000 pixels"));
        assert!(refused(&["fits.scales=[nan]"], tiny()).contains("[NaN]"));
        assert!(refused(&["fits.ridge=[-1.0, 0.0]"], tiny()).contains("a ridge is finite and not negative"));
        assert!(refused(&[], Operator::Fno.architecture(32)).contains("fno takes none"));
    }
}
