//! Physical units to the stored coordinates that networks count in, and back.

use scope_data::Constants;

use crate::{
    graph::{Attribute, Graph},
    layers::{DOUBLE, FLOAT},
};

/// The means and the divisors 2 sigma of both fields, in double precision.
pub(crate) struct Scales {
    means: String,
    divisors: String,
}

impl Scales {
    pub(crate) fn of(graph: &mut Graph, constants: &Constants) -> Self {
        let both = constants.into_array();
        let means = graph.constant(&[1, 2, 1, 1], both.map(|scaling| scaling.mean).to_vec());
        let divisors = graph.constant(&[1, 2, 1, 1], both.map(|scaling| 2.0 * scaling.sigma).to_vec());
        Self { means, divisors }
    }

    /// mask (x - mean) / (2 sigma). Readings count only where the mask says so, whatever they are elsewhere, NaN
    /// included.
    pub(crate) fn store(&self, graph: &mut Graph) -> String {
        let nothing = graph.constant(&[], vec![0.0_f32]);
        let measured = graph.node("Greater", &[Graph::MASK, &nothing], &[]);
        let readings = graph.cast(Graph::READINGS, DOUBLE);
        let centred = graph.node("Sub", &[&readings, &self.means], &[]);
        let scaled = graph.node("Div", &[&centred, &self.divisors], &[]);
        let stored = graph.cast(&scaled, FLOAT);
        let weighed = graph.node("Mul", &[&stored, Graph::MASK], &[]);
        graph.node("Where", &[&measured, &weighed, &nothing], &[])
    }

    /// 2 sigma x + mean.
    pub(crate) fn physical(&self, graph: &mut Graph, stored: &str) {
        let wide = graph.cast(stored, DOUBLE);
        let scaled = graph.node("Mul", &[&wide, &self.divisors], &[]);
        let fields = graph.node("Add", &[&scaled, &self.means], &[]);
        graph.named("Cast", &[&fields], &[("to", Attribute::Integer(FLOAT))], &[Graph::FIELDS]);
    }
}
