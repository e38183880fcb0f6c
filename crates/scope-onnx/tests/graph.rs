//! Graphs are whole and in order, and their fixed tensors are the model's own parameters, told without another program.

#![allow(clippy::unwrap_used)] // How a test fails.

use std::collections::{BTreeSet, HashSet};

use scope_data::Constants;
use scope_engine::Device;
use scope_model::{About, Architecture, FieldModel, FitConfig, ModelConfig, Operator, Preset};
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

#[test]
fn every_operation_reads_what_was_given_before_it() {
    for config in [Preset::Tiny.config(32), fitted()] {
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
    let (model, about) = model(fitted());
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

#[test]
fn a_network_without_a_graph_is_refused_by_name() {
    let (model, about) = model(Operator::Fno.architecture(32));
    let refusal = graph(&model, &about).unwrap_err();
    assert!(matches!(&refusal, OnnxError::Architecture(name) if name == "fno"), "{refusal}");
}
