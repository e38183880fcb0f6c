//! Graphs are whole and in order, and their fixed tensors are the model's own parameters, told without another program.

#![allow(clippy::unwrap_used)] // How a test fails.

use std::collections::{BTreeSet, HashSet};

use scope_data::Constants;
use scope_engine::Device;
use scope_model::{
    About, Architecture, Auxiliary, FieldModel, FitConfig, ModelConfig, Preset,
    operators::{CnoConfig, DeepOnetConfig, FnoConfig, TransolverConfig},
};
use scope_onnx::{Graph, Numbers, OnnxError, graph};
use scope_pde::Pde;

fn model(config: impl Into<Architecture>) -> (FieldModel, About) {
    let config = config.into();
    let model = FieldModel::initial(config.clone(), 3, &Device::cpu(1)).unwrap();
    let pde = Pde::POISSON;
    (model, About { pde, constants: Constants::generated(pde), config, training: None })
}

fn fitted() -> ModelConfig {
    let fits = FitConfig {
        scales: vec![4.0, 8.0],
        degree: 4,
        stride: 4,
        ridge: vec![1e-6, 1e-8],
        periodic: [false; 2],
        edges: scope_data::PerChannel { a: None, u: Some(-0.001) },
    };
    ModelConfig { fits: Some(fits), ..Preset::Tiny.config(32) }
}

/// Every network that has a graph: SCOPE's, without and with fits, and small operators.
fn networks() -> Vec<Architecture> {
    let deeponet = DeepOnetConfig { hidden: 12, basis: 8, trunk: 8, ..DeepOnetConfig::paper(32) };
    let normalised = DeepOnetConfig { hidden: 12, basis: 8, trunk: 8, ..DeepOnetConfig::normalised(32) };
    let cno = CnoConfig { multiplier: 4, latent: 6, residual: 1, neck: 1, ..CnoConfig::paper(32) };
    let transolver =
        TransolverConfig { width: 16, depth: 2, heads: 2, slices: 4, ..TransolverConfig::paper(32) };
    vec![
        Preset::Tiny.config(32).into(),
        fitted().into(),
        Architecture::Fno(FnoConfig { width: 4, modes: 3, layers: 2, projection: 8, ..FnoConfig::paper(32) }),
        Architecture::DeepOnet(deeponet),
        Architecture::DeepOnet(normalised),
        Architecture::Cno(cno),
        Architecture::Transolver(transolver),
    ]
}

#[test]
fn every_operation_reads_what_was_given_before_it() {
    for config in networks() {
        let (model, about) = model(config);
        let graph = graph(&model, &about).unwrap();
        let mut known: HashSet<&str> = graph.initialisers().iter().map(|fixed| fixed.name.as_str()).collect();
        assert_eq!(known.len(), graph.initialisers().len(), "names of fixed tensors are their own");
        known.extend([Graph::READINGS, Graph::MASK]);
        let mut read = HashSet::new();
        for node in graph.nodes() {
            for input in &node.inputs {
                assert!(known.contains(input.as_str()), "{} reads {input}", node.operator);
                read.insert(input.as_str());
            }
            for output in &node.outputs {
                assert!(known.insert(output), "{output} is given twice");
            }
        }
        // Nothing is computed in vain, and the fields come last.
        known.remove(Graph::FIELDS);
        assert_eq!(known, read);
        assert_eq!(graph.nodes().last().unwrap().outputs, [Graph::FIELDS]);
    }
}

#[test]
fn fixed_tensors_are_the_parameters_in_every_bit() {
    for config in networks() {
        let (model, about) = model(config);
        let graph = graph(&model, &about).unwrap();
        let layout = model.params.layout();
        let flat = model.params.flat().to_vec::<f32>().unwrap();
        let mut found = BTreeSet::new();
        for fixed in graph.initialisers().iter().filter(|fixed| !fixed.name.starts_with("constant_")) {
            let param = layout.param(layout.find(&fixed.name).unwrap());
            assert_eq!(fixed.shape, param.shape, "{}", fixed.name);
            assert_eq!(fixed.numbers, Numbers::F32(flat[param.range.clone()].to_vec()), "{}", fixed.name);
            found.insert(fixed.name.clone());
        }
        assert_eq!(found, layout.params().iter().map(|param| param.name.clone()).collect());
    }
}

/// What ONNX would leave to a library is written as matrices, which are the network's own.
#[test]
fn an_fno_asks_for_no_fourier_transform_and_a_cno_for_no_resize() {
    for config in networks() {
        let (model, about) = model(config);
        let graph = graph(&model, &about).unwrap();
        assert!(graph.nodes().iter().all(|node| !["DFT", "Resize"].contains(&node.operator)));
    }
}

#[test]
fn a_network_without_a_graph_is_refused_by_name() {
    for operator in Auxiliary::ALL {
        let (model, about) = model(operator.architecture(32));
        let refusal = graph(&model, &about).unwrap_err();
        assert!(matches!(&refusal, OnnxError::Auxiliary(name) if name == operator.name()), "{refusal}");
    }
}
